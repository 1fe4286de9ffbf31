/// The results of ``CacheStore/compact(progress:)``.
public struct CompactionReport: Sendable {
  /// Bytes of the folder on the disk before compaction, by the store's own account of every file.
  public var bytesBefore = 0
  /// Bytes of the folder on the disk after compaction.
  public var bytesAfter = 0
  /// Number of records copied to another segment.
  public var recordsMoved = 0
  /// Number of entries dropped because their records failed their check.
  public var recordsDropped = 0
  /// Duration in seconds.
  public var seconds = 0.0
  /// Whether `progress` stopped the compaction. The work done before stays done.
  public var isInterrupted = false
  /// Whether no file of the store holds bytes of entries that were removed, overwritten or evicted before the call. The
  /// head of a record, with its URL and metadata, may stay as long as its payload is in use. False if compaction was
  /// stopped, if unfinished bodies or drawings hold a segment, if copies found no room, or if a log file must stay.
  public var isErased = false
  /// Makes a report of no work.
  public init() {}
}
