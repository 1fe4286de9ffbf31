/// A store as an opening finds it, in memory, up to its last valid frame. Nothing has been written yet: a read-only
/// opening serves from this, a writer continues from it.
package struct LoadedStore {
  package var identity: StoreIdentity
  package var catalog: Catalog
  package var kind: OpeningKind
  package var notes: [String] = []
  package var replayedCount = 0
  package var droppedCount = 0
  package var mayHaveLostRemovals = false
  /// A replay that met damage: the keys of its later frames have to be dropped.
  package var distrusted: WALReplay?
  /// The log was closed cleanly at its end, so open segments may take more records.
  package var isClean = false
  /// The end of the log.
  package var end: WALPosition
  package var scan: WALScan
  package var chain: [UInt64]
  package var durableSequence: UInt64
  /// The highest opening number found in any file.
  package var newestOpening: UInt64
  package var checkpoint: CheckpointSet
  /// Records that frames carry inline: the valid copies until their segments are vouched for.
  package var inline: [Location: InlineRecord]
  /// Files in `segments/` that no entry refers to.
  package var orphans: [String] = []
  package var storeFileNeedsHealing = false
}

/// A record that a frame carries whole.
package struct InlineRecord {
  package let file: any File
  package let range: Range<Int>
  /// Its record was since written to its place.
  package var isRestored = false
}

/// The two checkpoint files.
package struct CheckpointSet {
  package struct Slot {
    package var file: (any File)?
    package var header: CheckpointHeader?
    /// The usable bytes from its start. If the file system promises allocated blocks, bytes behind the blocks that
    /// a crash has left do not count.
    package var room: Int
    /// The bytes that the ledger counts for it.
    package var chargedByteCount: Int

    /// Notes an allocation after its sync. Returns the number of bytes that the file takes more.
    mutating func noteRoom(_ allocated: Int) throws(SystemError) -> Int {
      guard let file else { return 0 }
      let before = chargedByteCount
      room = max(room, allocated)
      chargedByteCount = try file.status().chargedByteCount(atMost: room)
      return chargedByteCount - before
    }
  }
  package var slots: [Slot]
  /// The most bytes of a checkpoint that fit in either file.
  var room: Int { slots.map(\.room).min() ?? 0 }
  /// The version of a checkpoint that a later version of the library has written.
  package var newerVersion: UInt32?
  /// The slot from which the catalog was loaded.
  package var current: Int?
  /// The highest generation in use, also by failed attempts.
  private var givenGeneration: UInt64 = 0

  private init(slots: [Slot], newerVersion: UInt32?) {
    self.slots = slots
    self.newerVersion = newerVersion
  }

  /// A store without checkpoints.
  package init() { self.init(slots: [], newerVersion: nil) }

  /// Slots with a header, newest first.
  package var order: [Int] {
    slots.indices.filter { slots[$0].header != nil }.sorted {
      slots[$0].header!.generation > slots[$1].header!.generation
    }
  }

  /// Returns a generation for one attempt to write a checkpoint. No other attempt has it, even if this one fails
  /// before its header or its process dies: blocks are bound to their generation, and blocks of an earlier attempt
  /// lie where the next one's header may arrive first. The opening's number, which is durable and never used twice,
  /// is in the upper bits, a counter in the lower.
  package mutating func takeGeneration(opening: UInt64) -> UInt64 {
    let newest = slots.compactMap { $0.header?.generation }.max() ?? 0
    givenGeneration = max(givenGeneration, newest, opening << 32) + 1
    return givenGeneration
  }

  /// Opens the files. A missing file has no header; any other failure to open one is an error.
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
