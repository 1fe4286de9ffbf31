import Foundation

/// The share of cases that run. Under a sanitizer, every eighth case runs: a sanitizer's findings depend on the code
/// that runs and hardly on the bytes, and each case takes ten times as long.
enum Thoroughness {
  static let stride = isSanitized ? 8 : 1

  static let isSanitized = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] != nil
}
