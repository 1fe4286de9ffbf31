/// A file that a body of unknown length grows in. The log does not name it, so until it is made a segment a crash leaves
/// an orphan, which the next opening removes.
///
/// The payload begins where the longest head would end; the record is laid before it once its head is known. Used by the
/// one writer that made it, under that writer's lock; `allocatedByteCount` and `isNamed` also under the commit lock.
final class StagedFile: @unchecked Sendable {
  fileprivate let id: UInt64
  private let file: CachedFile
  let payloadOffset: Int
  /// Bytes that it has room for.
  fileprivate var byteCount = 0
  /// Bytes of the disk that it takes, as the ledger counts them.
  fileprivate var allocatedByteCount = 0
  /// Bytes of entries that have gone for it.
  fileprivate var evictedByteCount = 0
  /// It is a segment by now, and goes the way of all segments.
  fileprivate var isNamed = false

  fileprivate init(id: UInt64, file: CachedFile, payloadOffset: Int) {
    self.id = id
    self.file = file
    self.payloadOffset = payloadOffset
    file.syncBeforeClosing(true)
  }

  /// To be used at once, and not to be kept: there may be many bodies.
  func openFile() throws(SystemError) -> any File { try file.open() }

  fileprivate var name: String { SegmentHeader.fileName(id) }

  fileprivate func attach(to segment: Segment, mapping: Mapping?, byteCount: Int, account: StorageAccount) {
    segment.attach(
      file: file, mapping: mapping, byteCount: byteCount, allocatedByteCount: allocatedByteCount, account: account,
      access: .readWrite)
  }

  /// Shows the payload, and everything before it.
  func map(payloadByteCount: Int) throws(SystemError) -> Mapping {
    let mapping = try openFile().map(byteCount: roundUp(payloadOffset + payloadByteCount, to: 4096), writable: false)
    mapping.guardPages(isWritable: false)
    return mapping
  }
}

extension StoreCore {
  /// Makes an empty file for a body that has none yet.
  func stage(_ target: BodyTarget, for body: UnfinishedBody) throws(StoreError) -> StagedFile {
    if let staged = locked({ body.stagedFile }) { return staged }
    let largest = locked { largestValue() }
    let head = try target.withPut(self) { $0.headByteCount(storedByteCount: largest) }
    let id = try locked { () throws(StoreError) in
      try requireWritable()
      return catalog.takeSegmentID()
    }
    let file: any File
    do throws(SystemError) {
      file = try Creation.fresh(SegmentHeader.fileName(id), folders.segments)
    } catch {
      throw writeError(error)
    }
    let staged = StagedFile(
      id: id, file: folders.cached(file, segment: id, access: .readWrite),
      payloadOffset: roundUp(SegmentHeader.byteCount + head, to: 4096))
    locked { body.stagedFile = staged }
    return staged
  }

  /// Gives the file room for so many bytes of payload, and for some ahead where there is room; answers what to wait for
  /// when it may not wait itself.
  func grow(
    _ staged: StagedFile, toHold payloadByteCount: Int, for body: UnfinishedBody, waits: Bool
  ) throws(StoreError) -> RoomWaiter? {
    let needed = roundUp(staged.payloadOffset + payloadByteCount, to: 4096)
    if needed <= staged.byteCount { return nil }
    let limit = locked { largestValue(overhead: staged.payloadOffset) }
    if payloadByteCount > limit { throw .tooLarge(byteCount: payloadByteCount, limit: limit) }
    let ahead = max(needed, roundUp(staged.byteCount + max(64 << 10, staged.byteCount / 4), to: 4096))
    let before = staged.byteCount
    if let waiter = try admit(body, ahead - before, waits: waits) { return waiter }
    do throws(StoreError) {
      try extend(staged, to: ahead)
      return nil
    } catch {
      guard case .noSpace = error, needed < ahead else {
        dismiss(body, ahead - before)
        throw error
      }
    }
    dismiss(body, ahead - needed)
    do throws(StoreError) {
      try extend(staged, to: needed)
    } catch {
      dismiss(body, needed - before)
      throw error
    }
    return nil
  }

  /// Under the upkeep lock, so that the ledger's answer still holds when the blocks are taken. The length of the body is
  /// not known, so at most an eighth of the budget is evicted for it. Beyond that it may have room that is free.
  private func extend(_ staged: StagedFile, to byteCount: Int) throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try requireWritable()
    let more = byteCount - staged.byteCount
    var most = max(0, locked { ledger.budget / 8 } - staged.evictedByteCount)
    let before = most
    defer { staged.evictedByteCount += before - most }
    try makeRoom(for: more, evicting: &most)
    do throws(SystemError) {
      try staged.openFile().allocate(byteCount: byteCount)
      staged.byteCount = byteCount
      try account(staged)
    } catch {
      throw writeError(error)
    }
  }

  private func account(_ staged: StagedFile) throws(SystemError) {
    let allocated = try staged.openFile().status().chargedByteCount(atMost: staged.byteCount)
    locked {
      ledger.segments += allocated - staged.allocatedByteCount
      staged.allocatedByteCount = allocated
    }
  }

  /// Removes the file, unless it is a segment by now.
  func drop(_ staged: StagedFile) {
    if locked({ staged.isNamed }) { return }
    // The name may be another opening's by now; the next opening removes the file.
    if isRemoved || !isLockNamed { return }
    // A name that cannot be removed stays in the account, and goes with the next opening.
    guard (try? folders.segments.remove(staged.name)) != nil else { return }
    locked {
      ledger.segments -= staged.allocatedByteCount
      staged.allocatedByteCount = 0
    }
  }

  /// For closing: what is still growing will not be committed any more.
  func dropStagedFiles() {
    for staged in locked({ unfinished.all.compactMap(\.stagedFile) }) { drop(staged) }
  }

  /// Makes a segment of the file, with room around the payload of `put`, lent to the body. Rule 8: bytes, length and name
  /// are durable before the first frame that names it.
  func name(_ staged: StagedFile, _ put: PreparedPut, mapping: Mapping, for body: UnfinishedBody) throws(StoreError) {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try requireWritable()
    let needed = locked { catalog.checkpointByteCount() }
    if needed > checkpointByteCount { try grow(to: needed) }
    let header = SegmentHeader(
      stream: .spare, store: identity.store, segment: staged.id, fileByteCount: mapping.byteCount,
      opening: Sequence.opening(firstSequence), made: environment.clock.wallMilliseconds())
    do throws(SystemError) {
      let file = try staged.openFile()
      try file.write(header.encoded(), at: 0)
      if staged.byteCount > mapping.byteCount { try file.truncate(to: mapping.byteCount) }
      staged.byteCount = mapping.byteCount
      try file.sync()
      try folders.segments.sync()
      try account(staged)
    } catch {
      throw writeError(error)
    }
    bytesWritten.wrappingAdd(SegmentHeader.byteCount, ordering: .relaxed)
    while try !enter(staged, put, mapping, body) { try writeCheckpoint() }
    trimMappings()
  }

  /// False when the log has no room.
  private func enter(
    _ staged: StagedFile, _ put: PreparedPut, _ mapping: Mapping, _ body: UnfinishedBody
  ) throws(StoreError) -> Bool {
    let headByteCount = put.headByteCount(isReference: false)
    return try locked { () throws(StoreError) in
      try requireWritable()
      guard let slot = catalog.segments.takeSlot() else { throw .noSpace }
      let changes: [Change] = [
        .segmentMade(slot: slot, id: staged.id, byteCount: staged.byteCount),
        .segmentOpened(slot: slot, stream: .single, firstSequence: nextRecord),
      ]
      guard try record(changes), let segment = catalog.segments.segments[slot] else {
        catalog.segments.giveBack(slot: slot)
        return false
      }
      staged.isNamed = true
      staged.attach(
        to: segment, mapping: reads == .mapped ? mapping : nil, byteCount: mapping.byteCount,
        account: catalog.segments.account)
      catalog.segments.insert(segment, vouchedUpTo: 0, firstSequence: nextRecord)
      segment.tail = staged.payloadOffset - roundUp(headByteCount, to: Unit.byteCount)
      if let room = segment.reserve(
        headByteCount: headByteCount, payloadByteCount: put.stored.count, pageAligned: put.isPageAligned)
      {
        segment.lend(room)
        admissions.lend(room, to: body)
      }
      if try !record([.segmentSealed(slot: slot, byteCount: segment.byteCount)]) { segment.state = .sealed }
      return true
    }
  }
}
