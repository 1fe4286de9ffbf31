/// When an acknowledged change is sure to survive, and what.
public enum Durability: UInt8, Sendable {
  /// The death of the process; the loss of power after at most about a second.
  case buffered = 0
  /// The loss of power.
  case synced = 1
}
