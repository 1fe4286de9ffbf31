/// The faults that an acknowledged change survives.
public enum Durability: UInt8, Sendable {
  /// The death of the process. The loss of power may take changes of about the last second.
  case buffered = 0
  /// The loss of power.
  case synced = 1
}
