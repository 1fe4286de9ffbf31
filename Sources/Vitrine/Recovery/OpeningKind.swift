/// How an opening found its store.
public enum OpeningKind: String, Sendable {
  /// The opening made a new store.
  case created
  /// The store was closed cleanly.
  case clean
  /// The store was not closed cleanly, so the opening replayed the log.
  case recovered
  /// The index was rebuilt from the segments: no checkpoint and log could be used, or a repair asked for it.
  case rebuilt
}
