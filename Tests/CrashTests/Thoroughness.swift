import Foundation

/// The share of the crash states that the tests inspect: one state of six, another sixth each day. Six days inspect all
/// states. `VITRINE_THOROUGH=1` inspects all states at once. `VITRINE_DAY` chooses the day, to repeat a failure.
///
/// Under a sanitizer, the tests inspect one state of sixteen: races and invalid accesses depend on the executed code
/// and hardly on the state, and each state takes twenty times as long.
enum Thoroughness {
  private static let variables = ProcessInfo.processInfo.environment
  static let isSanitized = variables["VITRINE_SANITIZED"] != nil
  static let stride = isSanitized ? 16 : variables["VITRINE_THOROUGH"] == "1" ? 1 : 6
  /// The first of the explored states.
  static let first: Int = {
    let day = variables["VITRINE_DAY"].flatMap { UInt($0) } ?? UInt(Date().timeIntervalSince1970 / 86_400)
    // CI runs each sanitizer with these tests once in 16 days.
    return Int(isSanitized ? day / 14 : day) % stride
  }()

  /// Whether the state with this number is explored.
  static func takes(_ number: Int) -> Bool { number % stride == first }
}
