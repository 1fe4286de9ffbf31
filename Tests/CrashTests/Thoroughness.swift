import Foundation

/// The share of the crash states that the tests inspect: one state of three, another third each day. Three days inspect
/// all states. `VITRINE_THOROUGH=1` inspects all states at once. `VITRINE_DAY` chooses the day, to repeat a failure.
///
/// Under a sanitizer, the tests inspect one state of sixteen: races and invalid accesses depend on the executed code and
/// hardly on the state, and each state takes twenty times as long.
enum Thoroughness {
  private static let variables = ProcessInfo.processInfo.environment
  static let isSanitized = variables["VITRINE_SANITIZED"] != nil
  static let stride = isSanitized ? 16 : variables["VITRINE_THOROUGH"] == "1" ? 1 : 3
  /// The number of the first inspected state, by the day (UTC).
  static let first =
    (variables["VITRINE_DAY"].flatMap { Int($0) } ?? Int(Date().timeIntervalSince1970 / 86_400)) % stride

  /// Returns whether the state with this number is inspected.
  static func takes(_ number: Int) -> Bool { number % stride == first }
}
