/// Rewrites entries after a failed sync (the hard part of rule 7).
///
/// An opening that met a failed sync leaves a mark in `LOCK`. Pages in memory may then look written without being on
/// the disk. Entries for which no checkpoint vouches therefore do not count until they are checked and rewritten.
/// Only the opening uses it.
final class FailedSyncRecovery: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let preparer: PutPreparer
  private let meters: Meters
  private let checker: RecordChecker
  private let payloads: PayloadFinder
  private let checkpointRoom: CheckpointRoom
  private let committer: Committer
  private let reader: Reader
  private let putter: Putter

  init(_ parts: StoreParts) {
    context = parts.context
    gate = parts.basics.gate
    preparer = parts.basics.preparer
    meters = parts.basics.meters
    checker = parts.checkpoints.checker
    payloads = parts.checkpoints.payloads
    checkpointRoom = parts.space.checkpointRoom
    committer = parts.writes.committer
    reader = parts.reads.reader
    putter = parts.writes.putter
  }

  /// Checks the entries for which no checkpoint vouches, rewrites the intact ones and drops the others.
  func rewriteUnvouchedRecords() throws(StoreError) {
    try gate.mistrustingEarlierRecords { () throws(StoreError) in try writeAnew(unvouchedKeys()) }
    // The leftovers' live records have been checked and will be synced.
    commitLock.withLock { held in held.state.leftovers.removeAll() }
  }

  /// Puts entries again, as copies that one checkpoint commits. Until the checkpoint is published, the old records
  /// count, because they may be on the disk or in a frame. The checkpoint commits all copies together: recovery no
  /// longer reads the frames before it, and an old record may be durable only in such a frame. No frames are written,
  /// because the log may have no room. If there is no room for copies, entries are rewritten in place.
  private func writeAnew(_ entries: [(KeyHash, Location)]) throws(StoreError) {
    let arena = KeyArena()
    defer { withExtendedLifetime(arena) {} }
    var copies: [PendingOperation] = []
    var copied: [(KeyHash, Location)] = []
    var copiedPayloads: [Location: Shared] = [:]
    var gone: [(KeyHash, Location)] = []
    // If all files of the log are in use, the last one may have been restarted over the frames of an interrupted
    // recovery. Those changes are in memory but not in the log, so no frame may depend on them.
    var hasRoom = commitLock.withLock { held in held.state.log.freeCount > 0 }
    do throws(StoreError) {
      for entry in entries {
        var copy: PendingOperation?
        if hasRoom {
          // After the first `noSpace`, no other copy is attempted, since each attempt may cost syncs.
          do throws(StoreError) {
            copy = try copyAnew(entry.1, entry.0, arena, &copiedPayloads)
          } catch .noSpace {
            hasRoom = false
          } catch .tooLarge {
            // The budget may have been made smaller since the put.
          }
        }
        if let copy {
          copies.append(copy)
          copied.append(entry)
        } else if try !rewrite(entry.1) {
          gone.append(entry)
        }
      }
      if try commitAnew(copies, dropping: gone) { return }
    } catch {
      committer.abandon(copies)
      throw error
    }
    committer.abandon(copies)
    for entry in copied where try !rewrite(entry.1) { dropLost([entry]) }
  }

  /// Commits the copies by a checkpoint. Returns false if there is no room for that checkpoint.
  private func commitAnew(
    _ copies: [PendingOperation], dropping gone: [(KeyHash, Location)]
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try checkpointRoom.growCheckpoints(moreKeys: copies.count, moreWords: 8 * copies.count)
      dropLost(gone)
      if copies.isEmpty { return true }
      return try committer.commitByCheckpoint(copies) != nil
    } catch .noSpace {
      dropLost(gone)
      return false
    }
  }

  /// Removes lost entries from the index. The opening's checkpoint records this. A segment that held only these entries
  /// must not be retired before that checkpoint, because a replay of the log still has the entries.
  private func dropLost(_ entries: [(KeyHash, Location)]) {
    commitLock.withLock { held in
      for (hash, location) in entries where catalog.keys.find(hash, location) {
        let change = Change.remove(hash, held.state.index.displaced(at: location))
        held.state.index.apply(CollectionOfOne(change), sequence: 0, isChecked: false)
        meters.count(lost: checker.isFromBefore(location))
      }
    }
  }

  /// Entries for which no checkpoint vouches, least recently used first. Their copies get stamps in this order.
  private func unvouchedKeys() -> [(KeyHash, Location)] {
    let now = catalog.keys.clock.now
    var found: [(age: UInt32, entry: (KeyHash, Location))] = []
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) {
        var isVouched = catalog.segments.isVouched(entry.location)
        if isVouched, entry.flags.contains(.reference) {
          let payload = catalog.record(at: entry.location, checks: true).flatMap {
            catalog.payloadLocation(of: $0.header)
          }
          isVouched = payload.map { catalog.segments.isVouched($0) } ?? false
        }
        if isVouched { continue }
        found.append((RecencyClock.age(of: entry.stamp, at: now), (entry.hash(shard: shard), entry.location)))
      }
    }
    return found.sorted { $0.age > $1.age }.map(\.entry)
  }

  /// Copies an entry with the bytes that its record returns now; the copy is not committed yet. Returns nil if the
  /// bytes fail their check. Entries that share a payload share its copy.
  private func copyAnew(
    _ location: Location, _ hash: KeyHash, _ arena: KeyArena, _ copiedPayloads: inout [Location: Shared]
  ) throws(StoreError) -> PendingOperation? {
    guard try !checker.isDamaged(location), let view = catalog.record(at: location, checks: true),
      let payload = try restoredPayload(of: view.header, at: location)
    else { return nil }
    guard let isPageAligned = catalog.record(at: payload, checks: true)?.header.flags.contains(.pageAligned) else {
      return nil
    }
    let isPinned = catalog.keys.withEntry(hash, location) { $0.flags.contains(.pinned) } ?? false
    let info = EntryInfo(view, lastUse: nil, isPinned: isPinned)
    let url = arena.copy(Array(view.url))
    let style = arena.copy(info.key.style.bytes)
    let options = PutOptions(
      metadata: info.metadata, expirationMilliseconds: info.expirationMilliseconds, layout: info.layout,
      isPageAligned: isPageAligned,
      slidingExpirationMilliseconds: info.slidingExpirationMilliseconds, source: .none, isPinned: info.isPinned)
    let twin = copiedPayloads[payload]
    let borrow = reader.borrow(url, style, hash, counts: false)
    guard borrow.isFound else { return nil }
    defer { reader.endBorrow(borrow) }
    let metadata = info.metadata.span.bytes
    return try metadata.withUnsafeBytes { metadata throws(StoreError) in
      var put = try preparer.prepare(
        borrow.bytes, url: url, style: info.key.style, styleBytes: style, metadata: metadata, options: options,
        compresses: twin == nil)
      defer { put.release() }
      // The system may drop a clean page at any time and then reads it from the disk again, so the record is checked
      // again after the read.
      if put.payload.digest != view.header.digest || catalog.record(at: location, checks: true) == nil { return nil }
      put.source.given = info.source
      put.source.isNamed = info.hasNamedSource
      put.written = info.writtenMilliseconds
      if let twin {
        return try putter.place(put, sharing: twin, durability: .buffered, written: info.writtenMilliseconds)
      }
      let placed = try putter.place(put, durability: .buffered)
      if let copy = placed.location, try checker.isDamaged(copy) {
        committer.abandon([placed])
        return nil
      }
      if let copy = placed.ownPayload(of: put) { copiedPayloads[payload] = copy }
      return placed
    }
  }

  /// The location of a record's payload, restored from the log if necessary. Returns nil if the payload is gone.
  private func restoredPayload(of header: RecordHeader, at location: Location) throws(StoreError) -> Location? {
    if header.carriesPayload { return location }
    do throws(SystemError) {
      guard let (payload, pin) = try payloads.pinPayload(of: header, checks: true) else { return nil }
      pin.release()
      return payload
    } catch {
      throw .system(error)
    }
  }

  /// Writes a record's bytes to the same place again. That makes their pages dirty, so the next checkpoint syncs them.
  /// Readers see no difference. Returns false if the record is damaged or gone.
  private func rewrite(_ location: Location) throws(StoreError) -> Bool {
    guard try !checker.isDamaged(location), let header = catalog.record(at: location, checks: true)?.header,
      let segment = catalog.segments.segment(location.slot)
    else { return false }
    guard let payload = try restoredPayload(of: header, at: location) else { return false }
    if payload != location, try !rewrite(payload) { return false }
    do throws(SystemError) {
      guard let file = try segment.openFile() else { return false }
      let end = location.offset + header.byteCount
      for start in stride(from: location.offset, to: end, by: 256 << 10) {
        try file.write(file.read(start..<min(end, start + (256 << 10))), at: start)
      }
    } catch {
      throw gate.writeError(error)
    }
    commitLock.withLock { held in
      held.state[segment].sync.owe()
    }
    // The pages are dirty now, so the system cannot drop them before this check.
    return try !checker.isDamaged(location)
  }
}
