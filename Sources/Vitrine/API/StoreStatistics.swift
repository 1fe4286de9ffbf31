/// The contents and the work of a store. Taking it costs O(segments), and as much as ``CacheStore/count``.
///
/// What it has done is summed over all openings for writing, but for what a crash forgot: up to a second of it. A read-only
/// opening tells what the writer told within the last second.
public struct StoreStatistics: Sendable {
  /// One segment file.
  public struct Segment: Sendable {
    /// The file's name within `segments/`.
    public var file: String
    /// The class of its records: `originals`, `bitmaps`, the copies of either (`originals-main`, `bitmaps-main`), `single` for
    /// one large record, or `spare`.
    public var stream: String
    /// Bytes of the disk that the file takes.
    public var byteCount: Int
    /// Bytes of records that entries need.
    public var liveByteCount: Int
    /// Bytes that no entry needs any more.
    public var deadByteCount: Int
    /// Bytes still to be written.
    public var freeByteCount: Int
    /// Keys and payloads that are needed: two for most entries, one for an entry whose payload lies elsewhere or for a
    /// payload whose own key has gone. ``CacheStore/segmentContents()`` counts records.
    public var livePartCount: Int
    /// Whether the segment takes more records.
    public var isOpen: Bool
  }

  /// What compaction has done.
  public struct Compaction: Sendable, Equatable {
    /// Rounds of copying.
    public var stepCount: Int
    /// Records copied to another segment.
    public var recordsMoved: Int
    /// Bytes of these records.
    public var bytesMoved: Int
    /// Segments in which nothing was needed after their records were copied.
    public var segmentsFreed: Int
  }

  /// How an opening came about, and the recovery that it made.
  public struct LastOpen: Sendable {
    /// How the opening came to the index.
    public typealias Kind = OpeningKind
    /// How the opening came to the index.
    public var kind: Kind
    /// How long the opening took, in milliseconds.
    public var milliseconds: Double
    /// Changes taken from the WAL.
    public var replayedCount: Int
    /// Entries given up because their segment or their frames were gone.
    public var droppedCount: Int
    /// True when damage was met that may have lost removals: removed keys may have come back.
    public var mayHaveLostRemovals: Bool
    /// What was found wrong, for people.
    public var notes: [String]
  }

  /// The version of the format on the disk.
  public var formatVersion: UInt32
  /// Those that have not expired, as ``CacheStore/count``.
  public var entryCount: Int
  /// Different payloads: keys that share one count once.
  public var blobCount: Int
  /// Bytes the folder takes on the disk.
  public var bytesOnDisk: Int
  /// Bytes of records that entries need.
  public var liveByteCount: Int
  /// Bytes of records that no entry needs, until compaction frees them.
  public var deadByteCount: Int
  /// Bytes of the segments that ``Blob``s of the writer hold, each segment once, with those that are unlinked by now.
  public var pinnedByteCount: Int
  /// Bytes that gets would give, each key counted: more than `liveByteCount` where content is shared or compressed.
  public var logicalByteCount: Int
  /// The most bytes that the folder may take on the disk.
  public var byteBudget: Int
  /// 0 for no limit.
  public var entryBudget: Int
  /// The order in which eviction takes entries.
  public var policy: EvictionPolicy
  /// Of a read-only opening, with its own.
  public var hitCount: Int
  /// Lookups that found no entry, as ``hitCount`` counts.
  public var missCount: Int
  /// Bytes written to the disk for each byte that was put; 0 before the first put.
  public var writeAmplification: Double
  /// Entries that failed their check since opening.
  public var damagedCount: Int
  /// Entries given up as lost (never vouched for, and gone after a crash) since opening.
  public var lostCount: Int
  /// Entries that eviction has forgotten, and bytes of their records.
  public var evictedCount: Int
  /// Bytes of the records of evicted entries.
  public var evictedByteCount: Int
  /// How many of them had last been used less than a second before, less than 4 seconds, less than 16, and so on.
  public var evictedByAge: [Int]
  /// The work of compaction.
  public var compaction: Compaction
  /// When the last checkpoint was made, in milliseconds since 1970; nil before the first.
  public var lastCheckpointMilliseconds: Int64?
  /// How this opening came about.
  public var lastOpen: LastOpen
  /// How the last opening for writing came about, which for a writer is its own; nil where nothing tells. Of a read-only
  /// opening, without notes.
  public var lastOpenForWriting: LastOpen?
  /// All segments of the store.
  public var segments: [Segment]

  /// Hits for each lookup, 0 before the first.
  public var hitRatio: Double { hitCount + missCount == 0 ? 0 : Double(hitCount) / Double(hitCount + missCount) }
}

/// What lives in one segment.
public struct SegmentContents: Sendable, Equatable {
  /// Entries whose key record lies in it, with those that have expired and are not removed yet.
  public var entryCount = 0
  /// Records of which something is needed, the key or the payload.
  public var recordCount = 0
  /// Makes the contents of an empty segment.
  public init() {}
}

/// What ``CacheStore/verify(progress:)`` found.
public struct VerificationReport: Sendable {
  /// One place that failed its check.
  public struct Problem: Sendable, Hashable {
    /// Relative to the store's folder.
    public var file: String
    /// Bytes from the start of the file.
    public var offset: Int
    /// Of an entry that needs what is there; each that shares it has a problem of its own. Nil where the record is too damaged
    /// to tell.
    public var key: CacheKey?
    /// The failed check, for people.
    public var reason: String
    /// Makes a problem of its parts.
    public init(file: String, offset: Int, key: CacheKey?, reason: String) {
      self.file = file
      self.offset = offset
      self.key = key
      self.reason = reason
    }
  }

  /// Records that were checked.
  public var recordCount = 0
  /// Bytes that were read.
  public var byteCount = 0
  /// Places that were durable and fail their check.
  public var damaged: [Problem] = []
  /// Never vouched for, and gone after a crash.
  public var lost: [Problem] = []
  /// Whether nothing is damaged. Lost entries are no damage.
  public var isOK: Bool { damaged.isEmpty }
  /// Makes a report of no finding.
  public init() {}
}
