import Foundation

/// The share of the states that is explored: one of three, another one each day, so three days explore all of them.
/// `VITRINE_THOROUGH=1` explores all, and `VITRINE_DAY` chooses the day, to repeat a failure.
///
/// Under a sanitizer one state of sixteen: races and invalid accesses depend on the executed code and hardly on the
/// state, and each state takes twenty times as long.
enum Thoroughness {
  private static let variables = ProcessInfo.processInfo.environment
  static let isSanitized = variables["VITRINE_SANITIZED"] != nil
  static let stride = isSanitized ? 16 : variables["VITRINE_THOROUGH"] == "1" ? 1 : 3
  /// The first of the explored states.
  static let first =
    (variables["VITRINE_DAY"].flatMap { Int($0) } ?? Int(Date().timeIntervalSince1970 / 86_400)) % stride

  /// Whether the state with this number is explored.
  static func takes(_ number: Int) -> Bool { number % stride == first }
}
