/// Writes batches; each is committed as a whole.
final class BatchWriter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let preparer: PutPreparer
  private let meters: Meters
  private let syncer: Syncer
  private let roomQueue: RoomQueue
  private let committer: Committer
  private let putter: Putter

  init(
    _ context: StoreContext, gate: WriteGate, preparer: PutPreparer, meters: Meters, syncer: Syncer,
    roomQueue: RoomQueue, committer: Committer, putter: Putter
  ) {
    self.context = context
    self.gate = gate
    self.preparer = preparer
    self.meters = meters
    self.syncer = syncer
    self.roomQueue = roomQueue
    self.committer = committer
    self.putter = putter
  }

  func write(_ batch: WriteBatch, durability: Durability?) throws(StoreError) {
    try gate.requireWritable()
    try gate.requireNamedNow()
    if batch.isEmpty { return }
    let batch = batch.withoutOverwritten
    let total = batch.byteCount
    let (limit, room, segment) = commitLock.withLock { held in
      (held.state.largestSum, held.state.roomBesideOpen, held.state.largestSegment)
    }
    if total > limit { throw .tooLarge(byteCount: total, limit: limit) }
    let extent = batch.largestExtent(segmentByteCount: segment)
    if extent > room { throw .tooLarge(byteCount: extent, limit: room) }
    let durability = durability ?? identity.durability
    func commit() throws(StoreError) -> Committed { try placeAndCommit(batch, durability) }
    let committed = try extent > segment ? roomQueue.placing(extent, commit) : commit()
    meters.count(bytesPut: total)
    if durability == .synced { try syncer.acknowledgeSynced(committed.sequence) }
  }

  private func placeAndCommit(_ batch: WriteBatch, _ durability: Durability) throws(StoreError) -> Committed {
    while true {
      let arena = KeyArena()
      var pending: [PendingOperation] = []
      pending.reserveCapacity(batch.count)
      do throws(StoreError) {
        try place(batch, durability, arena, &pending)
      } catch {
        committer.abandon(pending)
        throw error
      }
      let committed = try committer.commit(pending, moreKeys: batch.count, awaitsSync: durability == .synced)
      withExtendedLifetime(arena) {}
      if let committed { return committed }
    }
  }

  private func place(
    _ batch: WriteBatch, _ durability: Durability, _ arena: KeyArena, _ pending: inout [PendingOperation]
  ) throws(StoreError) {
    // A style that follows its original follows the one that the batch puts, or none if the batch removes it. So
    // originals are placed first.
    var originals: [[UInt8]: Source?] = [:]
    let order =
      batch.operations.indices.filter { batch.operations[$0].key.style == .original }
      + batch.operations.indices.filter { batch.operations[$0].key.style != .original }
    // Equal bytes within the batch are stored once too.
    var earlier: [Digest: [(operation: Int, shared: Shared, layout: BitmapLayout?, isPageAligned: Bool)]] = [:]
    for index in order {
      switch batch.operations[index] {
      case .remove(let key):
        let url = arena.copy(key.url)
        if key.style == .original { originals[key.url] = .some(nil) }
        pending.append(
          PendingOperation(
            key: OperationKey(
              hash: catalog.hasher.key(url, styleTag: key.style.tag), url: url, style: arena.copy(key.style.bytes)),
            digest: Digest(high: 0, low: 0), logicalByteCount: 0, abortsBodies: true))
      case .put(let key, let bytes, let options):
        let url = arena.copy(key.url)
        let style = arena.copy(key.style.bytes)
        let result: Result<PendingOperation, StoreError> = bytes.withUnsafeBytes { value in
          options.metadata.withUnsafeBytes { metadata in
            do throws(StoreError) {
              var put = try preparer.prepare(
                value, url: url, style: key.style, styleBytes: style, metadata: metadata, options: options)
              defer { put.release() }
              if key.style == .original { originals[key.url] = Source(put.payload.digest) }
              if put.source.followsOriginal, let own = originals[key.url] {
                put.source.given = own
                put.source.followsOriginal = false
              } else if put.source.followsOriginal {
                put.source.follow(putter.sourceOfOriginal(url, put.key.hash))
              }
              let twin = earlier[put.payload.digest]?.first { twin in
                guard twin.layout == put.payload.layout, twin.isPageAligned || !put.isPageAligned,
                  case .put(_, let other, _) = batch.operations[twin.operation]
                else {
                  return false
                }
                return other == bytes
              }
              if let twin {
                return .success(
                  try putter.place(
                    put, sharing: twin.shared, durability: durability, written: environment.clock.wallMilliseconds()))
              }
              let placed = try putter.place(put, durability: durability)
              if let shared = placed.ownPayload(of: put) {
                earlier[put.payload.digest, default: []].append((index, shared, put.payload.layout, put.isPageAligned))
              }
              return .success(placed)
            } catch {
              return .failure(error)
            }
          }
        }
        var placed = try result.get()
        placed.abortsBodies = batch.removedBefore.contains(key)
        pending.append(placed)
      }
    }
  }
}
