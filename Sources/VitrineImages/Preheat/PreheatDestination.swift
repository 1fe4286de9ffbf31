/// The place that preheated pictures are loaded into.
public enum PreheatDestination: Sendable, Hashable {
  /// Memory, for immediate showing, and the storage as usual.
  case memory
  /// Only the storage, for items farther away than memory has room for. Without a storage nothing is loaded.
  case store

  /// Returns a destination that satisfies both.
  func joined(_ other: PreheatDestination) -> PreheatDestination {
    self == .memory || other == .memory ? .memory : .store
  }
}
