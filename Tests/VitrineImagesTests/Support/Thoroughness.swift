import Foundation

/// How much of what could be tried is. Under a sanitizer one case of eight: what it looks for hangs on the code that runs and
/// hardly on the bytes, and each takes ten times as long.
enum Thoroughness {
  static let stride = isSanitized ? 8 : 1

  static let isSanitized = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] != nil
}
