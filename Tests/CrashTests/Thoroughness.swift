import Foundation

/// How much of what could be explored is. Under a sanitizer one state of sixteen: what it looks for, races and accesses to
/// memory that is not ours, hangs on the code that runs and hardly on the state, and each state takes twenty times as long.
enum Thoroughness {
  static let stride = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] == nil ? 1 : 16
}
