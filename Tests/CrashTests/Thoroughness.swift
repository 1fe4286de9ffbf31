import Foundation

/// The share of the states that is explored. Under a sanitizer one state of sixteen: races and invalid accesses
/// depend on the executed code and hardly on the state, and each state takes twenty times as long.
enum Thoroughness {
  static let stride = ProcessInfo.processInfo.environment["VITRINE_SANITIZED"] == nil ? 1 : 16
}
