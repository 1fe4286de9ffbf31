/// A store as an opening finds it, brought up to its last counted frame in memory. Nothing has been written yet: a
/// read-only opening serves from this, a writer goes on from it.
package struct LoadedStore {
  package var identity: StoreIdentity
  package var catalog: Catalog
  package var kind: OpeningKind
  package var notes: [String] = []
  package var replayedCount = 0
  package var droppedCount = 0
  package var mayHaveLostRemovals = false
  /// A replay that met damage: what it says about later frames has to be dropped.
  package var distrusted: WALReplay?
  /// The log was closed cleanly right here, so open segments may be written on.
  package var isClean = false
  /// Where the log ends.
  package var end: WALPosition
  package var scan: WALScan
  package var chain: [UInt64]
  package var durableSequence: UInt64
  /// Highest opening number met anywhere.
  package var newestOpening: UInt64
  package var checkpoint: CheckpointSet
  /// Payloads that frames carry: until their segments are vouched for, they are the proof.
  package var inline: [Location: InlineRecord]
  /// Files in `segments/` that nothing refers to.
  package var orphans: [String] = []
  package var storeFileNeedsHealing = false
}

/// A record that a frame carries whole.
package struct InlineRecord {
  package let file: any File
  package let range: Range<Int>
  /// It was written to its place since.
  package var isRestored = false
}

/// The two checkpoint files.
package struct CheckpointSet {
  package struct Slot {
    package var file: (any File)?
    package var header: CheckpointHeader?
    /// Bytes from its start that may be counted on: of the length that a crash has left, only what has blocks, where the file
    /// system promises them.
    package var room: Int
    /// What the ledger has of it.
    package var chargedByteCount: Int

    /// Behind an allocation and its sync. Answers how much more the file takes.
    mutating func noteRoom(_ allocated: Int) throws(SystemError) -> Int {
      guard let file else { return 0 }
      let before = chargedByteCount
      room = max(room, allocated)
      chargedByteCount = try file.status().chargedByteCount(atMost: room)
      return chargedByteCount - before
    }
  }
  package var slots: [Slot]
  /// What a checkpoint may take in either file.
  var room: Int { slots.map(\.room).min() ?? 0 }
  /// Of a checkpoint that a later version has written.
  package var newerVersion: UInt32?
  /// Which one the catalog came from.
  package var current: Int?
  /// The highest generation that was given, whatever became of it.
  private var givenGeneration: UInt64 = 0

  private init(slots: [Slot], newerVersion: UInt32?) {
    self.slots = slots
    self.newerVersion = newerVersion
  }

  /// A store that has none.
  package init() { self.init(slots: [], newerVersion: nil) }

  /// Newest first.
  package var order: [Int] {
    slots.indices.filter { slots[$0].header != nil }.sorted {
      slots[$0].header!.generation > slots[$1].header!.generation
    }
  }

  /// For one attempt to write a checkpoint, and no other, be it broken off before its header or by the death of its process:
  /// blocks are bound to their generation, and those of an earlier attempt lie where the next one's header may arrive first.
  /// The opening's number, which is durable and never given twice, stands above a counter.
  package mutating func takeGeneration(opening: UInt64) -> UInt64 {
    let newest = slots.compactMap { $0.header?.generation }.max() ?? 0
    givenGeneration = max(givenGeneration, newest, opening << 32) + 1
    return givenGeneration
  }

  /// A file that is not there has no header; one that cannot be opened for another reason is an error.
  package static func open(_ directory: any Directory, access: FileAccess) throws(SystemError) -> CheckpointSet {
    var slots: [Slot] = []
    var newerVersion: UInt32?
    for index in 0..<2 {
      var file: (any File)?
      do throws(SystemError) {
        file = try directory.openFile(CheckpointHeader.fileName(index), access)
      } catch {
        guard error.code == SystemError.missing else { throw error }
      }
      let bytes = (try? file?.read(0..<CheckpointHeader.byteCount)) ?? []
      let header = bytes.withUnsafeBytes { CheckpointHeader($0) }
      newerVersion = bytes.withUnsafeBytes { CheckpointHeader.newerVersion($0) } ?? newerVersion
      let status = try file?.status() ?? FileStatus(byteCount: 0, allocatedByteCount: 0)
      let room = directory.promisesAllocation ? min(status.byteCount, status.allocatedByteCount) : status.byteCount
      slots.append(
        Slot(file: file, header: header, room: room, chargedByteCount: status.chargedByteCount(atMost: room)))
    }
    return CheckpointSet(slots: slots, newerVersion: newerVersion)
  }
}

/// The folders of a store.
package struct StoreFolders: Sendable {
  package let root: any Directory
  package let wal: any Directory
  package let checkpoints: any Directory
  package let segments: any Directory
  package let resources: Resources

  package init(root: any Directory, create: Bool, resources: Resources = Resources()) throws(SystemError) {
    self.root = root
    self.resources = resources
    wal = try root.openDirectory(CacheFormat.walFolder, create: create)
    checkpoints = try root.openDirectory(CacheFormat.checkpointsFolder, create: create)
    segments = try root.openDirectory(CacheFormat.segmentsFolder, create: create)
  }

  /// A store that has no folders of its own yet: nothing is in them.
  package init(unfinished root: any Directory) {
    self.root = root
    resources = Resources()
    wal = root
    checkpoints = root
    segments = root
  }

  /// A segment file that is open now, and is opened again by its name when it is needed later.
  package func cached(
    _ file: any File, segment id: UInt64, access: FileAccess, isKept: Bool = false
  ) -> CachedFile {
    CachedFile(
      file, name: SegmentHeader.fileName(id), in: segments, access: access, cache: resources.files, isKept: isKept)
  }

  package var all: [any Directory] { [root, wal, checkpoints, segments] }

  /// False once the store's folder, or what was in it, was removed or replaced.
  package var areStillNamed: Bool {
    root.isStillNamed() && wal.isStillNamed() && segments.isStillNamed() && checkpoints.isStillNamed()
  }
}
