/// The contents and the counters of a store. Costs O(segments), plus the cost of ``CacheStore/count``.
///
/// Counters are sums over all openings for writing, unless noted. A read-only opening shows the counters that the
/// writer published last. A writer in use publishes them about once a second. Under `fifo`, lookups do not wake a
/// sleeping upkeep, so the writer publishes them after its next change. If the process dies, the counts since the last
/// publication are lost. Power loss may lose all counts.
public struct StoreStatistics: Sendable {
  /// One segment file.
  public struct Segment: Sendable {
    /// The file's name in `segments/`.
    public var file: String
    /// The class of its records: `originals`, `bitmaps`, copies of either or records that were used and kept in place
    /// (`originals-main`, `bitmaps-main`), records of keys that have come back under `s3fifo` or that replace used ones
    /// (`originals-returned`, `bitmaps-returned`), `single` for one large record, or `spare`.
    public var stream: String
    /// Bytes of the file on the disk.
    public var byteCount: Int
    /// Bytes of live records.
    public var liveByteCount: Int
    /// Bytes that no entry needs any more.
    public var deadByteCount: Int
    /// Bytes not written yet.
    public var freeByteCount: Int
    /// Number of live keys and payloads: two for most entries, one for an entry whose payload lies elsewhere or for a
    /// payload whose own key was removed. ``CacheStore/segmentContents()`` counts records.
    public var livePartCount: Int
    /// Whether the segment accepts more records.
    public var isOpen: Bool
  }

  /// The lookups of a period, such as the last hour.
  public struct Lookups: Sendable, Hashable {
    /// Number of lookups that found an entry.
    public var hitCount: Int
    /// Number of lookups that found no entry.
    public var missCount: Int
    /// Hits divided by lookups; 0 without lookups.
    public var hitRatio: Double { hitCount + missCount == 0 ? 0 : Double(hitCount) / Double(hitCount + missCount) }
  }

  /// The work of compaction.
  public struct Compaction: Sendable, Equatable {
    /// Number of rounds of copying.
    public var stepCount: Int
    /// Number of records copied to another segment.
    public var recordsMoved: Int
    /// Bytes of the copied records.
    public var bytesMoved: Int
    /// Number of segments that had no live bytes after their records were copied.
    public var segmentsFreed: Int
  }

  /// The kind of an opening and the recovery that it did.
  public struct LastOpen: Sendable, Equatable {
    /// The kind of an opening.
    public typealias Kind = OpeningKind
    /// How the opening got the index.
    public var kind: Kind
    /// Duration of the opening, in milliseconds.
    public var milliseconds: Double
    /// Number of changes replayed from the WAL.
    public var replayedCount: Int
    /// Number of entries dropped because their segment or their frames were gone.
    public var droppedCount: Int
    /// Whether damage may have lost removals, so that removed keys may have come back.
    public var mayHaveLostRemovals: Bool
    /// Problems found, as sentences for people.
    public var notes: [String]
  }

  /// The version of the format on the disk.
  public var formatVersion: UInt32
  /// Number of unexpired entries, as ``CacheStore/count``.
  public var entryCount: Int
  /// Number of different payloads. A payload that keys share counts once.
  public var blobCount: Int
  /// Bytes of the folder on the disk.
  public var bytesOnDisk: Int
  /// Bytes of live records.
  public var liveByteCount: Int
  /// Bytes of dead records, until compaction frees them.
  public var deadByteCount: Int
  /// Bytes of the segments that the writer's ``Blob``s hold, each segment counted once, unlinked ones included. Pinned
  /// entries are counted in ``pins`` instead.
  public var pinnedByteCount: Int
  /// Bytes that gets of all keys would return: more than `liveByteCount` if payloads are shared or compressed.
  public var logicalByteCount: Int
  /// The largest size of the folder on the disk, in bytes.
  public var byteBudget: Int
  /// The largest number of entries; 0 for no limit.
  public var entryBudget: Int
  /// The styles that have a budget, with their entries.
  public var styles: [StyleUse]
  /// The pinned entries; nil while they are being counted, and in a read-only opening that has met a damaged record.
  public var pins: PinUse?
  /// Bytes of the disk that the store leaves free; 0 for no minimum.
  public var minimumFreeBytes: Int
  /// Bytes of the disk that are free for the user of this process; nil if the file system does not report them.
  public var availableBytes: Int?
  /// The order in which eviction takes entries.
  public var policy: EvictionPolicy
  /// Number of lookups that found an entry. A read-only opening adds its own to those of the writer.
  public var hitCount: Int
  /// Number of lookups that found no entry, counted like ``hitCount``.
  public var missCount: Int
  /// The lookups of the writer in the last minute; nil if they are not known. In a read-only opening, those up to the
  /// writer's last publication.
  public var lastMinute: Lookups?
  /// The lookups of the writer in the last hour, as ``lastMinute``. In a younger store, those since it was made.
  public var lastHour: Lookups?
  /// The misses that the writer would have with other budgets; nil if too few requests are known.
  public var missCurve: MissCurve?
  /// Bytes written to the disk for each byte put; 0 before the first put.
  public var writeAmplification: Double
  /// Number of entries that failed their check since opening.
  public var damagedCount: Int
  /// Number of entries lost in a crash before they were durable, since opening.
  public var lostCount: Int
  /// Number of evicted entries.
  public var evictedCount: Int
  /// Bytes of evicted records that no entry needs any more.
  public var evictedByteCount: Int
  /// Number of evicted entries by the time since their last use: less than 1 s, less than 4 s, less than 16 s, and so
  /// on.
  public var evictedByAge: [Int]
  /// The work of compaction.
  public var compaction: Compaction
  /// The time of the last checkpoint, in milliseconds since 1970; nil before the first.
  public var lastCheckpointMilliseconds: Int64?
  /// The kind and the recovery of this opening.
  public var lastOpen: LastOpen
  /// The kind and the recovery of the last opening for writing; for a writer, its own. Nil if it is not recorded.
  /// Without notes in a read-only opening.
  public var lastOpenForWriting: LastOpen?
  /// All segments of the store.
  public var segments: [Segment]

  /// Hits divided by lookups; 0 before the first lookup.
  public var hitRatio: Double { hitCount + missCount == 0 ? 0 : Double(hitCount) / Double(hitCount + missCount) }
}

/// The number of entries and live records of one segment.
public struct SegmentContents: Sendable, Equatable {
  /// Number of entries whose key record lies in the segment, including expired ones not removed yet.
  public var entryCount = 0
  /// Number of records whose key or payload is live.
  public var recordCount = 0
  /// Makes the contents of an empty segment.
  public init() {}
}

/// The results of ``CacheStore/verify(progress:)``.
public struct VerificationReport: Sendable {
  /// One place that failed its check.
  public struct Problem: Sendable, Hashable {
    /// The file's path relative to the store's folder.
    public var file: String
    /// Offset in the file, in bytes.
    public var offset: Int
    /// The key of an entry that needs these bytes. Each entry that shares them has a problem of its own. Nil if the
    /// record is too damaged to tell.
    public var key: CacheKey?
    /// The failed check, as a sentence for people.
    public var reason: String
    /// Makes a problem of its parts.
    public init(file: String, offset: Int, key: CacheKey?, reason: String) {
      self.file = file
      self.offset = offset
      self.key = key
      self.reason = reason
    }
  }

  /// Number of records checked.
  public var recordCount = 0
  /// Number of bytes read.
  public var byteCount = 0
  /// Problems in bytes that were durable.
  public var damaged: [Problem] = []
  /// Problems in entries that were not durable before a crash and are gone.
  public var lost: [Problem] = []
  /// Whether nothing is damaged. Lost entries are not damage.
  public var isOK: Bool { damaged.isEmpty }
  /// Makes a report without problems.
  public init() {}
}
