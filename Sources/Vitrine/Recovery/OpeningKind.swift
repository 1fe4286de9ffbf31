/// How an opening found its store.
public enum OpeningKind: String, Sendable {
  /// The opening made a new store.
  case created
  /// The store was closed in order.
  case clean
  /// The store was not closed: the opening replayed the log.
  case recovered
  /// No checkpoint could be read: the index was rebuilt from the segments.
  case rebuilt
}
