/// A store as an opening finds it, in memory, up to its last valid frame. Nothing has been written yet: a read-only
/// opening serves from this, a writer continues from it.
package struct LoadedStore {
  package var identity: StoreIdentity
  package let index: LoadedIndex
  package var catalog: Catalog { index.catalog }
  package var report: RecoveryReport
  /// A replay that met damage. The keys of the frames behind the damage have to be dropped.
  package var distrusted: WALReplay?
  /// The log was closed cleanly at its end, so open segments may take more records.
  package var isClean = false
  package var log: LoadedLog
  /// The highest opening number found in any file.
  package var newestOpening: UInt64
  package var checkpoint: CheckpointSet
  package var files = IndexFiles()
  /// Records that frames carry inline: the valid copies until their segments are vouched for.
  package var inline: [Location: InlineRecord]
  /// Segment files in `segments/` that the index does not name.
  package var orphans: [String] = []
  package var storeFileNeedsHealing = false
}

/// The files of a loaded index beside its checkpoints.
package struct IndexFiles {
  /// See ``PiecePlan/smallBase``.
  package var smallBase = PiecePlan.smallBase
  /// The pieces, once an opening for writing has taken over a store that has them.
  package var pieces: PieceSet?
  /// The file with the blocks of the pieces, if there is one.
  package var area: (any File)?
  /// The file of uses, if there is one.
  package var uses: FoundUses?
  /// The file of uses, once an opening for writing has taken over a store that has pieces.
  package var useRing: UseRing?
}

/// The work of recovery, for statistics and for messages to users.
package struct RecoveryReport {
  package var kind: OpeningKind
  package var notes: [String] = []
  package var replayedCount = 0
  package var droppedCount = 0
  /// Payloads of lost segments were dropped. No frame records the drop, so a checkpoint must precede any frame that
  /// retires such a segment.
  package var hasDroppedPayloads = false
  package var mayHaveLostRemovals = false
}

/// The log as recovery has followed it.
package struct LoadedLog {
  package var end: WALPosition
  package var scan: WALScan
  /// The uses of log files that replay went through, in order.
  package var chain: [UInt64]
  package var durableSequence: UInt64
}

/// The index of a loaded store, until an engine takes it. Used by one thread at a time.
///
/// Invariant: `memory` is initialized until ``take()``, which happens at most once.
package final class LoadedIndex: @unchecked Sendable {
  private let memory: UnsafeMutablePointer<CatalogWriter>
  private var isTaken = false
  /// The catalog, for reading also after an engine has taken the index.
  package let catalog: Catalog

  package init(_ writer: consuming CatalogWriter) {
    catalog = writer.catalog
    memory = .allocate(capacity: 1)
    memory.initialize(to: writer)
  }

  deinit {
    if !isTaken { memory.deinitialize(count: 1) }
    memory.deallocate()
  }

  package var writer: CatalogWriter {
    unsafeAddress {
      precondition(!isTaken, "an engine has the index")
      return UnsafePointer(memory)
    }
    unsafeMutableAddress {
      precondition(!isTaken, "an engine has the index")
      return memory
    }
  }

  /// Gives the index to an engine.
  func take() -> CatalogWriter {
    precondition(!isTaken, "an engine has the index")
    isTaken = true
    return memory.move()
  }
}

/// A record that a frame carries whole.
package struct InlineRecord {
  package let file: any File
  package let range: Range<Int>
  /// Whether the record was written to its place since.
  package var isRestored = false
}
