/// Recovers the index of a store: reads the newest valid checkpoint, replays the log behind it, and checks the
/// segments. Changes no file.
package struct Loader {
  package let folders: StoreFolders
  package let access: FileAccess
  private let mapsSegments: Bool
  /// Counts the Blobs that hold segments; nil for the loaded catalog's own account.
  private let account: StorageAccount?

  package init(folders: StoreFolders, isReadOnly: Bool, mapsSegments: Bool = true, account: StorageAccount? = nil) {
    self.folders = folders
    access = isReadOnly ? .readOnly : .readWrite
    self.mapsSegments = mapsSegments
    self.account = account
  }

  /// Loads the store. `identity` is the content of `STORE`, if it could be read.
  package func load(identity stored: StoreIdentity?, rebuilding: Bool = false) throws(StoreError) -> LoadedStore {
    guard let loaded = try load(identity: stored, rebuilding: rebuilding, besideWriter: nil) else {
      throw .unreadable(path: folders.root.path, reason: "its checkpoints change while it is being opened")
    }
    return loaded
  }

  /// With `besideWriter`, another process may be changing the files. Returns nil if a checkpoint was replaced while
  /// it was read, which is no damage and no reason to read all segments.
  func load(
    identity stored: StoreIdentity?, rebuilding: Bool = false, besideWriter: WriterBeside?
  ) throws(StoreError) -> LoadedStore? {
    var checkpoints = try openCheckpoints()
    let headers = checkpoints.slots.map(\.header)
    let fromCheckpoint = checkpoints.order.first.flatMap { checkpoints.slots[$0].header?.identity }
    guard let identity = stored ?? fromCheckpoint else {
      throw .unreadable(path: folders.root.path, reason: "neither STORE nor a checkpoint can be read")
    }
    // A checkpoint copied in from another store is ignored.
    for index in checkpoints.slots.indices where checkpoints.slots[index].header?.identity.store != identity.store {
      checkpoints.leaveOut(index)
    }
    let area = try openArea()
    let uses = openUses(identity)
    if !rebuilding {
      for slot in checkpoints.order {
        guard let header = checkpoints.slots[slot].header, let file = checkpoints.slots[slot].file,
          let index = readIndex(from: file, header, area, uses, besideWriter)
        else { continue }
        checkpoints.use(slot)
        // Beside a writer, the log is opened as late as possible: fewer of its files were reused by then.
        let scan = try openLog(identity)
        // A rebuild reuses log files of checkpoints that it could not read. If one can be read now, its log is broken.
        if scan.isRebuilt(after: header.position.use) { break }
        let isNewest = slot == checkpoints.order.first
        let needed = NeededLog(for: slot, in: checkpoints)
        if header.isRoot, identity.hasPieces, access == .readWrite { index.writer.beginJournal() }
        if var loaded = replay(index, header, identity, scan, checkpoints, uses, isNewest: isNewest, needed) {
          loaded.files.area = area
          loaded.files.uses = uses
          uses?.note(in: loaded.catalog.keys, times: loaded.catalog.useTimes, after: header.recency)
          if besideWriter != nil { try catchUp(&loaded) }
          return try finish(loaded, storeFileNeedsHealing: stored == nil || !stored!.hasSameOptions(as: identity))
        }
      }
    }
    if besideWriter != nil, try openCheckpoints().slots.map(\.header) != headers { return nil }
    let scan = try openLog(identity)
    var loaded = try Rebuild(folders: folders, identity: identity, scan: scan, access: access)
      .run(checkpoints: checkpoints)
    loaded.newestOpening = max(loaded.newestOpening, newestOpening(checkpoints, scan))
    loaded.files.area = area
    loaded.files.uses = uses
    return try finish(loaded, storeFileNeedsHealing: stored == nil)
  }

  /// Opens the area, if there is one. The store works without it as long as no root counts.
  private func openArea() throws(StoreError) -> (any File)? {
    do throws(SystemError) {
      return try folders.checkpoints.openFile(CacheFormat.areaFile, access)
    } catch {
      if error.code == SystemError.missing { return nil }
      throw .system(error)
    }
  }

  /// Opens the file of uses, if there is one. An opening works without it.
  private func openUses(_ identity: StoreIdentity) -> FoundUses? {
    guard identity.hasPieces, let file = try? folders.checkpoints.openFile(CacheFormat.usesListFile, access) else {
      return nil
    }
    let byteCount = FoundUses.usableByteCount(file, in: folders.checkpoints)
    return FoundUses(file, byteCount: min(byteCount, identity.byteBudget), store: identity.store)
  }

  private func readIndex(
    from file: any File, _ header: CheckpointHeader, _ area: (any File)?, _ uses: FoundUses?,
    _ besideWriter: WriterBeside?
  ) -> LoadedIndex? {
    let clock = uses?.clock(after: header.recency) ?? header.recency
    let read =
      besideWriter == nil
      ? CatalogWriter.read(from: file, header: header, area: area, clock: clock)
      : besideWriter?.readIndex(from: file, header, area, clock: clock)
    guard let read else { return nil }
    return LoadedIndex(read)
  }

  private func openCheckpoints() throws(StoreError) -> CheckpointSet {
    try system { () throws(SystemError) in try CheckpointSet.open(folders.checkpoints, access: access) }
  }

  private func openLog(_ identity: StoreIdentity) throws(StoreError) -> WALScan {
    try system { () throws(SystemError) in try WALScan.open(folders.wal, store: identity.store, access: access) }
  }

  private func newestOpening(_ checkpoints: CheckpointSet, _ scan: WALScan) -> UInt64 {
    max(scan.newestOpening, checkpoints.slots.compactMap { $0.header?.opening }.max() ?? 0)
  }

  /// The part of the log that a checkpoint needs.
  private enum NeededLog {
    /// The checkpoint is the newest one.
    case any
    /// A newer checkpoint, with this position, cannot be read. The log was durable up to there before the header was
    /// written. A crash may have left the header, or its first sector, without the rest, and may have lost frames
    /// behind the position.
    case upTo(WALPosition)
    /// A loss of power has left the second sector of another header. Its checkpoint was never published.
    case unbroken
    /// The header of a newer checkpoint may be unreadable, so its position is unknown. No crash leaves such a header.
    case all

    init(for slot: Int, in checkpoints: CheckpointSet) {
      let others = checkpoints.slots.indices.filter { $0 != slot }.map { checkpoints.slots[$0] }
      if others.contains(where: { $0.header == nil && !$0.isBlank && $0.torn == nil }) {
        self = .all
      } else if let newest = checkpoints.order.first, newest != slot, let header = checkpoints.slots[newest].header {
        self = .upTo(header.position)
      } else if let torn = others.compactMap(\.torn).first {
        self = torn.position.map { .upTo($0) } ?? .unbroken
      } else {
        self = .any
      }
    }

    func isMet(by replay: WALReplay) -> Bool {
      switch self {
      case .any: true
      case .upTo(let position): !replay.isDamaged && replay.reaches(position)
      case .unbroken: !replay.isDamaged
      case .all: !replay.isDamaged && !replay.isFollowed
      }
    }
  }

  /// Returns nil if the log lacks a part that the checkpoint needs. A rebuild then finds more.
  private func replay(
    _ index: LoadedIndex, _ header: CheckpointHeader, _ identity: StoreIdentity, _ scan: WALScan,
    _ checkpoints: CheckpointSet, _ uses: FoundUses?, isNewest: Bool, _ needed: NeededLog
  ) -> LoadedStore? {
    var target = Replaying(index: index, readings: ArraySlice(uses?.readings ?? []))
    index.writer.isReplaying = true
    let replay = WALReplay.run(scan, from: header.position, isClean: header.isClean && isNewest, into: &target)
    index.writer.isReplaying = false
    if !needed.isMet(by: replay) { return nil }
    var loaded = LoadedStore(
      identity: identity, index: index, report: RecoveryReport(kind: .recovered),
      log: LoadedLog(
        end: replay.end, scan: scan, chain: replay.chain,
        durableSequence: max(replay.durableSequence, header.position.sequence)),
      newestOpening: newestOpening(checkpoints, scan), checkpoint: checkpoints, inline: target.inline)
    loaded.report.replayedCount = replay.changeCount
    if replay.isDamaged {
      loaded.distrusted = replay
      loaded.report.mayHaveLostRemovals = true
      loaded.report.notes.append("the log is damaged before its end; removals may be lost")
    }
    loaded.isClean =
      header.isClean && isNewest && replay.changeCount == 0 && !replay.isDamaged
      && header.opening == loaded.newestOpening
    if loaded.isClean { loaded.report.kind = .clean }
    return loaded
  }

  /// Rule 9: drops the keys that whole frames behind the damage touch. The segments are attached.
  private func drop(_ replay: WALReplay, _ index: LoadedIndex) -> Int {
    var dropped = 0
    for shard in 0..<KeyTable.shardCount {
      for entry in index.writer.catalog.keys.copy(shard: shard) {
        let hash = entry.hash(shard: shard)
        guard replay.laterRemovesAll || replay.laterKeys.contains(hash.stored) else {
          continue
        }
        let displaced = index.writer.displaced(at: entry.location)
        index.writer.apply(CollectionOfOne(.remove(hash, displaced)), sequence: 0, isChecked: false)
        dropped += 1
      }
    }
    return dropped
  }

  // MARK: Segments

  /// Opens and maps every segment, and drops the entries of missing ones.
  private func finish(
    _ loaded: LoadedStore, storeFileNeedsHealing: Bool
  ) throws(StoreError) -> LoadedStore {
    var loaded = loaded
    loaded.storeFileNeedsHealing = storeFileNeedsHealing
    var known: Set<String> = []
    let oldest = oldestMapped(loaded.index)
    for segment in present(loaded.index) {
      known.insert(segment.fileName)
      try attach(segment, mappedFrom: oldest, &loaded)
    }
    if let replay = loaded.distrusted { loaded.report.droppedCount += drop(replay, loaded.index) }
    let entries = try system { () throws(SystemError) in try folders.segments.entries() }
    for entry in entries where !known.contains(entry.name) && entry.kind == .file {
      if SegmentHeader.segment(ofFile: entry.name) != nil { loaded.orphans.append(entry.name) }
    }
    return loaded
  }

  /// Opens a segment's file unless it is attached. Maps it if its number is at least `oldest`. Returns the length of
  /// the file.
  @discardableResult
  private func open(_ segment: Segment, mappedFrom oldest: UInt64, _ index: LoadedIndex) throws(SystemError) -> Int {
    if segment.isAttached { return segment.readableByteCount }
    return try folders.open(
      segment, index.writer.segments, access: access, maps: mapsSegments && segment.id >= oldest,
      account: account ?? index.writer.catalog.segments.account)
  }

  /// The segments that the log has not retired.
  private func present(_ index: LoadedIndex) -> [Segment] {
    index.writer.segments.all.compactMap { $0 }.filter { index.writer.segments[$0].state != .retired }
  }

  /// Returns the number of the oldest segment to map if there are more than may be mapped.
  private func oldestMapped(_ index: LoadedIndex) -> UInt64 {
    present(index).map(\.id).sorted(by: >).prefix(folders.resources.mappedSegments).last ?? 0
  }

  /// Opens the segments of a log beside a writer. A segment without a file was retired by a later frame, after its
  /// records were moved or removed. So the log is read on, at most ``mostCatchingUp`` times, until every segment has
  /// its file. If a segment still has no file then, its entries are dropped.
  private func catchUp(_ loaded: inout LoadedStore) throws(StoreError) {
    let index = loaded.index
    for _ in 0..<Loader.mostCatchingUp {
      var isMissing = false
      let oldest = oldestMapped(index)
      for segment in present(index) {
        do throws(SystemError) {
          try open(segment, mappedFrom: oldest, index)
        } catch {
          guard error.code == SystemError.missing else { throw .system(error) }
          isMissing = true
        }
      }
      if !isMissing || loaded.distrusted != nil { return }
      let scan = try openLog(loaded.identity)
      var target = Replaying(index: index, inline: loaded.inline)
      index.writer.isReplaying = true
      let replay = WALReplay.run(scan, from: loaded.log.end, into: &target)
      index.writer.isReplaying = false
      loaded.inline = target.inline
      loaded.report.replayedCount += replay.changeCount
      loaded.log.end = replay.end
      if replay.isDamaged || replay.frameCount == 0 { return }
      loaded.isClean = false
      loaded.report.kind = .recovered
      loaded.log.scan = scan
      loaded.log.chain += replay.chain.filter { !loaded.log.chain.contains($0) }
      loaded.log.durableSequence = max(loaded.log.durableSequence, replay.durableSequence)
      loaded.newestOpening = max(loaded.newestOpening, scan.newestOpening)
    }
  }

  private static let mostCatchingUp = 10

  private func attach(
    _ segment: Segment, mappedFrom oldest: UInt64, _ loaded: inout LoadedStore
  ) throws(StoreError) {
    let index = loaded.index
    var problem: String?
    var mapped = 0
    var isWhole = false
    do throws(SystemError) {
      let length = try open(segment, mappedFrom: oldest, index)
      mapped = segment.readableByteCount
      isWhole = mapped >= index.writer.segments[segment].byteCount
      if !isWhole {
        // A seal may have cut the file to its records. Its frame may be in the log, or lost with the power.
        index.writer.segments[segment].set(byteCount: max(mapped, index.writer.segments[segment].fill.tail))
        // If the process died after the cut, a loss of power may undo it: no checkpoint counts on it before a sync.
        index.writer.segments[segment].sync.owe()
      } else if length > index.writer.segments[segment].byteCount {
        // A loss of power has undone a cut, or the cut failed. The file is trimmed again.
        index.writer.segments[segment].set(byteCount: length)
      }
      let tail = index.writer.segments[segment].fill.tail
      if mapped < tail { problem = "is \(tail - mapped) bytes short" }
    } catch {
      // Only a missing file costs entries. Another error, such as too many open files, must drop none.
      guard error.code == SystemError.missing else { throw .system(error) }
      problem = "is missing"
    }
    let (vouched, first) = (
      loaded.catalog.segments.vouchedUpTo(segment.slot), loaded.catalog.segments.firstSequence(segment.slot)
    )
    index.writer.segments.insert(segment, vouchedUpTo: vouched, firstSequence: first)
    let account = index.writer.segments[segment]
    guard account.live.count > 0 || account.state != .spare, let problem else {
      if !isWhole, account.state == .spare { index.writer.segments[segment].seal() }
      return
    }
    if account.state == .open { index.writer.segments[segment].seal() }
    let dropped = index.writer.dropEntries(slot: segment.slot, from: mapped)
    loaded.report.droppedCount += dropped.keys
    loaded.isClean = false
    if dropped.payloads > 0 { loaded.report.hasDroppedPayloads = true }
    if dropped.keys > 0 {
      loaded.report.notes.append("\(segment.fileName) \(problem): \(dropped.keys) entries dropped")
    }
  }
}

/// The index during replay of a log, and the records that frames carry inline.
private struct Replaying: ReplayTarget {
  let index: LoadedIndex
  var inline: [Location: InlineRecord] = [:]
  /// Readings of the recency clock between frames (``FoundUses/readings``).
  var readings: ArraySlice<(sequence: UInt64, clock: UInt64)> = []

  func expect(changeCount: Int) { index.writer.expect(changeCount) }

  func prefetch(_ change: Change) {
    guard case .put(let put) = change else { return }
    index.writer.keys.prefetch(put.hash)
    index.writer.contents.prefetch(put.content)
  }

  mutating func apply(_ changes: ArraySlice<Change>, sequence: UInt64, file: WALScan.Found) -> Bool {
    for change in changes { note(change, file) }
    let clock = index.writer.keys.clock
    while let next = readings.first, next.sequence <= sequence {
      if next.clock > clock.count { clock.set(next.clock) }
      readings = readings.dropFirst()
    }
    return index.writer.apply(changes, sequence: sequence, isChecked: false)
  }

  /// Keeps the record that a change carries inline, and drops those whose place another record or segment has
  /// taken.
  private mutating func note(_ change: Change, _ file: WALScan.Found) {
    switch change {
    case .put(let put):
      if put.inline != nil || !inline.isEmpty {
        inline[put.location] = put.inline.map { InlineRecord(file: file.file, range: $0) }
      }
    case .segmentMade(let slot, _, _), .segmentRetired(let slot):
      if !inline.isEmpty { inline = inline.filter { $0.key.slot != slot } }
    case .removeAll: inline = [:]
    case .remove, .segmentOpened, .segmentSealed, .moved: break
    }
  }
}

/// Converts system errors to `StoreError.system`.
func system<R>(_ body: () throws(SystemError) -> R) throws(StoreError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw .system(error)
  }
}
