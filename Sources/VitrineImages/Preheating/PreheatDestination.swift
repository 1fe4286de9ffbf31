/// Where what is preheated is to be found.
public enum PreheatDestination: Sendable, Hashable {
  /// In memory, to be shown in the same moment, and in the storage as ever.
  case memory
  /// In the storage alone: what is further off than memory has room for. Nothing is loaded where there is no storage.
  case store

  /// What serves both.
  func joined(_ other: PreheatDestination) -> PreheatDestination {
    self == .memory || other == .memory ? .memory : .store
  }
}
