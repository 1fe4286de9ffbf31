/// What ``CacheStore/compact(progress:)`` did.
public struct CompactionReport: Sendable {
  /// What the folder took on the disk before it, in bytes, by the store's own account of every file.
  public var bytesBefore = 0
  /// What it takes now.
  public var bytesAfter = 0
  /// Records that were copied to another segment.
  public var recordsMoved = 0
  /// Entries that went because their records failed their check.
  public var recordsDropped = 0
  /// How long it took.
  public var seconds = 0.0
  /// `progress` said to stop; what was done so far is kept.
  public var isInterrupted = false
  /// No file of the store holds bytes of entries that were removed, overwritten or evicted before the call. False when it
  /// was interrupted, and while unfinished bodies or drawings keep a segment from being copied.
  public var isErased = false
  /// Makes a report of no work.
  public init() {}
}
