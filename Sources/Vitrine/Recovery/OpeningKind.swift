/// How an opening found its store.
public enum OpeningKind: String, Sendable {
  /// There was none: it was made.
  case created
  /// Closed in order.
  case clean
  /// Not closed: brought up to date from the log.
  case recovered
  /// No checkpoint could be read: the segments told the index.
  case rebuilt
}
