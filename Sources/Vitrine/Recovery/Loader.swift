/// Recovery: checkpoint, plus WAL, plus checks, equals the index. Reads only.
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
      checkpoints.slots[index].header = nil
    }
    if !rebuilding {
      for index in checkpoints.order {
        guard let header = checkpoints.slots[index].header, let file = checkpoints.slots[index].file,
          let catalog = besideWriter.map({ $0.readCatalog(from: file, header) })
            ?? Catalog.read(from: file, header: header)
        else { continue }
        checkpoints.current = index
        // Beside a writer, the log is opened as late as possible: fewer of its files were reused by then.
        let scan = try openLog(identity)
        let replayed = replay(catalog, header, identity, scan, checkpoints, isNewest: index == checkpoints.order.first)
        if var loaded = replayed {
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
    return try finish(loaded, storeFileNeedsHealing: stored == nil)
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

  /// Returns nil if the log does not reach back to an older checkpoint: then the segments tell more.
  private func replay(
    _ catalog: Catalog, _ header: CheckpointHeader, _ identity: StoreIdentity, _ scan: WALScan,
    _ checkpoints: CheckpointSet, isNewest: Bool
  ) -> LoadedStore? {
    var target = Replaying(catalog: catalog)
    catalog.isReplaying = true
    let replay = WALReplay.run(scan, from: header.position, isClean: header.isClean && isNewest, into: &target)
    catalog.isReplaying = false
    if replay.isDamaged && !isNewest { return nil }
    var loaded = LoadedStore(
      identity: identity, catalog: catalog, kind: .recovered, end: replay.end, scan: scan, chain: replay.chain,
      durableSequence: max(replay.durableSequence, header.position.sequence),
      newestOpening: newestOpening(checkpoints, scan), checkpoint: checkpoints, inline: target.inline)
    loaded.replayedCount = replay.changeCount
    if replay.isDamaged {
      loaded.distrusted = replay
      loaded.mayHaveLostRemovals = true
      loaded.notes.append("the log is damaged before its end; removals may be lost")
    }
    loaded.isClean =
      header.isClean && isNewest && replay.changeCount == 0 && !replay.isDamaged
      && header.opening == loaded.newestOpening
    if loaded.isClean { loaded.kind = .clean }
    return loaded
  }

  /// Rule 9: drops the keys that whole frames behind the damage touch. The segments are attached.
  private func drop(_ replay: WALReplay, _ catalog: Catalog) -> Int {
    var dropped = 0
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) {
        let hash = entry.hash(shard: shard)
        guard replay.laterRemovesAll || replay.laterKeys.contains(hash.stored) else {
          continue
        }
        catalog.apply(
          CollectionOfOne(.remove(hash, catalog.displaced(at: entry.location))), sequence: 0, isChecked: false)
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
    let segments = loaded.catalog.segments.segments.compactMap { $0 }.filter { $0.state != .retired }
    loaded.catalog.segments.mappedLimit = folders.resources.mappedSegments
    let oldest = oldestMapped(loaded.catalog)
    for segment in segments {
      known.insert(segment.fileName)
      try attach(segment, mappedFrom: oldest, &loaded)
    }
    if let replay = loaded.distrusted { loaded.droppedCount += drop(replay, loaded.catalog) }
    let entries = try system { () throws(SystemError) in try folders.segments.entries() }
    for entry in entries where !known.contains(entry.name) && entry.kind == .file {
      if SegmentHeader.segment(ofFile: entry.name) != nil { loaded.orphans.append(entry.name) }
    }
    return loaded
  }

  /// Leaves an open segment as it is. If there are more segments than may be mapped, maps those with numbers from
  /// `oldest` on.
  private func open(_ segment: Segment, mappedFrom oldest: UInt64, _ catalog: Catalog) throws(SystemError) {
    if segment.isAttached { return }
    try folders.open(
      segment, access: access, maps: mapsSegments && segment.id >= oldest,
      account: account ?? catalog.segments.account)
  }

  /// Returns the number of the oldest segment to map if there are more than may be mapped.
  private func oldestMapped(_ catalog: Catalog) -> UInt64 {
    let numbers = catalog.segments.segments.compactMap { $0 }.filter { $0.state != .retired }.map(\.id)
    return numbers.sorted(by: >).prefix(folders.resources.mappedSegments).last ?? 0
  }

  /// Opens the segments of a log beside a writer. A segment without a file was retired by a later frame, after its
  /// records were moved or removed. So the log is read on until every segment has its file. If none of it helps,
  /// the missing segments count as missing.
  private func catchUp(_ loaded: inout LoadedStore) throws(StoreError) {
    let catalog = loaded.catalog
    for _ in 0..<Loader.mostCatchingUp {
      var isMissing = false
      let oldest = oldestMapped(catalog)
      for case let segment? in catalog.segments.segments where segment.state != .retired {
        do throws(SystemError) {
          try open(segment, mappedFrom: oldest, catalog)
        } catch {
          guard error.code == SystemError.missing else { throw .system(error) }
          isMissing = true
        }
      }
      if !isMissing || loaded.distrusted != nil { return }
      let scan = try openLog(loaded.identity)
      var target = Replaying(catalog: catalog, inline: loaded.inline)
      catalog.isReplaying = true
      let replay = WALReplay.run(scan, from: loaded.end, into: &target)
      catalog.isReplaying = false
      loaded.inline = target.inline
      loaded.replayedCount += replay.changeCount
      loaded.end = replay.end
      if replay.isDamaged || replay.frameCount == 0 { return }
      loaded.isClean = false
      loaded.kind = .recovered
      loaded.scan = scan
      loaded.chain += replay.chain.filter { !loaded.chain.contains($0) }
      loaded.durableSequence = max(loaded.durableSequence, replay.durableSequence)
      loaded.newestOpening = max(loaded.newestOpening, scan.newestOpening)
    }
  }

  private static let mostCatchingUp = 10

  private func attach(
    _ segment: Segment, mappedFrom oldest: UInt64, _ loaded: inout LoadedStore
  ) throws(StoreError) {
    let catalog = loaded.catalog
    var problem: String?
    var mapped = 0
    var isWhole = false
    do throws(SystemError) {
      try open(segment, mappedFrom: oldest, catalog)
      mapped = segment.readableByteCount
      isWhole = mapped >= segment.byteCount
      if !isWhole {
        // A seal may have cut the file to its records. Its frame may be in the log, or lost with the power.
        segment.byteCount = max(mapped, segment.tail)
        // If the process died after the cut, a loss of power may undo it: no checkpoint counts on it before a sync.
        segment.isDirty = true
        segment.owesSync = true
      }
      if mapped < segment.tail { problem = "is \(segment.tail - mapped) bytes short" }
    } catch {
      // Only a missing file is lost: with too many files open, for example, no entry may be dropped.
      guard error.code == SystemError.missing else { throw .system(error) }
      problem = "is missing"
    }
    catalog.segments.insert(
      segment, vouchedUpTo: catalog.segments.vouchedUpTo(segment.slot),
      firstSequence: catalog.segments.firstSequence(segment.slot))
    guard segment.liveCount > 0 || segment.state != .spare, let problem else {
      if !isWhole, segment.state == .spare { segment.state = .sealed }
      return
    }
    if segment.state == .open { segment.state = .sealed }
    let dropped = catalog.dropEntries(slot: segment.slot, from: mapped)
    loaded.droppedCount += dropped
    loaded.isClean = false
    if dropped > 0 { loaded.notes.append("\(segment.fileName) \(problem): \(dropped) entries dropped") }
  }
}

/// The catalog during replay of a log, and the records that frames carry inline.
private struct Replaying: ReplayTarget {
  let catalog: Catalog
  var inline: [Location: InlineRecord] = [:]

  func expect(changeCount: Int) { catalog.expect(changeCount) }

  func prefetch(_ change: Change) {
    guard case .put(let put) = change else { return }
    catalog.keys.prefetch(put.hash)
    catalog.contents.prefetch(put.content)
  }

  mutating func apply(_ changes: ArraySlice<Change>, sequence: UInt64, file: WALScan.Found) -> Bool {
    for change in changes { note(change, file) }
    return catalog.apply(changes, sequence: sequence, isChecked: false)
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

/// Turns the system's errors into the store's.
func system<R>(_ body: () throws(SystemError) -> R) throws(StoreError) -> R {
  do throws(SystemError) {
    return try body()
  } catch {
    throw .system(error)
  }
}
