/// Changes that happen together or not at all, after any crash. Later ones of a key win over earlier ones.
///
/// Holds copies of nothing: the arrays it is given are shared until written.
public struct WriteBatch: Sendable {
  enum Operation: Sendable {
    case put(CacheKey, [UInt8], PutOptions)
    case remove(CacheKey)

    var key: CacheKey {
      switch self {
      case .put(let key, _, _), .remove(let key): key
      }
    }
  }

  private(set) var operations: [Operation] = []
  /// Keys that a later operation puts, after one that removes them.
  private(set) var removedBefore: Set<CacheKey> = []

  public init() {}

  /// The durability in `options` is not used: a batch has one, given to ``CacheStore/write(_:durability:)``.
  public mutating func put(_ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()) {
    operations.append(.put(key, bytes, options))
  }

  public mutating func remove(_ key: CacheKey) { operations.append(.remove(key)) }

  /// Only the last operation of each key, in their order. That a key was removed before is noted, since it counts against
  /// bodies that are under way.
  var withoutOverwritten: WriteBatch {
    var last: [CacheKey: Int] = [:]
    for (index, operation) in operations.enumerated() { last[operation.key] = index }
    guard last.count < operations.count else { return self }
    var batch = WriteBatch()
    for (index, operation) in operations.enumerated() {
      if last[operation.key] == index {
        batch.operations.append(operation)
      } else if case .remove(let key) = operation {
        batch.removedBefore.insert(key)
      }
    }
    return batch
  }

  var putKeys: [CacheKey] {
    operations.compactMap { if case .put(let key, _, _) = $0 { key } else { nil } }
  }

  var removedKeys: [CacheKey] {
    operations.compactMap { if case .remove(let key) = $0 { key } else { nil } }
  }

  /// Bytes of the values.
  var byteCount: Int {
    operations.reduce(0) { sum, operation in
      if case .put(_, let bytes, _) = operation { sum + bytes.count } else { sum }
    }
  }

  /// Bytes of segments that it takes at most: nothing is compressed or shared, and a record that does not fit behind the
  /// one before it begins a segment.
  func largestExtent(in core: StoreCore, segmentByteCount: Int) -> Int {
    var sum = 0
    var room = (originals: 0, bitmaps: 0)
    func place(_ byteCount: Int, _ room: inout Int) {
      if byteCount > room {
        sum += segmentByteCount
        room = segmentByteCount - SegmentHeader.byteCount
      }
      room -= byteCount
    }
    for case .put(let key, let bytes, let options) in operations {
      let head = RecordHeader.headByteCount(
        url: key.url.count, style: key.style.bytes.count, metadata: options.metadata.count,
        hasLayout: options.layout != nil, hasSource: true, storedByteCount: bytes.count)
      let most = core.largestExtent(head, bytes.count, options.isPageAligned)
      let record =
        options.isPageAligned
        ? most - SegmentHeader.byteCount : (Unit.count(head) + Unit.count(bytes.count)) * Unit.byteCount
      if most > segmentByteCount {
        sum += roundUp(most, to: 4096)
      } else if options.layout == nil {
        place(record, &room.originals)
      } else {
        place(record, &room.bitmaps)
      }
    }
    return sum
  }

  public var count: Int { operations.count }
  public var isEmpty: Bool { operations.isEmpty }
}

extension StoreCore {
  func write(_ batch: WriteBatch, durability: Durability?) throws(StoreError) {
    try requireWritable()
    try requireNamedNow()
    if batch.isEmpty { return }
    let batch = batch.withoutOverwritten
    let total = batch.byteCount
    let (limit, room, segment) = locked { (largestSum, roomBesideOpen, segmentByteCount) }
    if total > limit { throw .tooLarge(byteCount: total, limit: limit) }
    let extent = batch.largestExtent(in: self, segmentByteCount: segment)
    if extent > room { throw .tooLarge(byteCount: extent, limit: room) }
    let durability = durability ?? identity.durability
    func commit() throws(StoreError) -> Committed { try placeAndCommit(batch, durability) }
    let committed = try extent > segment ? placing(extent, commit) : commit()
    bytesPut.wrappingAdd(total, ordering: .relaxed)
    if durability == .synced { try acknowledgeSynced(committed.sequence) }
  }

  private func placeAndCommit(_ batch: WriteBatch, _ durability: Durability) throws(StoreError) -> Committed {
    while true {
      let arena = KeyArena()
      var pending: [PendingOperation] = []
      pending.reserveCapacity(batch.count)
      do throws(StoreError) {
        try place(batch, durability, arena, &pending)
      } catch {
        locked { settle(pending) }
        throw error
      }
      let committed = try commit(pending, moreKeys: batch.count, awaitsSync: durability == .synced)
      withExtendedLifetime(arena) {}
      if let committed { return committed }
    }
  }

  private func place(
    _ batch: WriteBatch, _ durability: Durability, _ arena: KeyArena, _ pending: inout [PendingOperation]
  ) throws(StoreError) {
    // What follows an original follows the batch's own first: the one it puts, or none where it removes it. So those
    // are decided before the rest.
    var originals: [[UInt8]: Source?] = [:]
    let order =
      batch.operations.indices.filter { batch.operations[$0].key.style == .original }
      + batch.operations.indices.filter { batch.operations[$0].key.style != .original }
    // Equal bytes within the batch are stored once too.
    var earlier: [Digest: [(operation: Int, shared: Shared, layout: BitmapLayout?)]] = [:]
    for index in order {
      switch batch.operations[index] {
      case .remove(let key):
        let url = arena.copy(key.url)
        if key.style == .original { originals[key.url] = .some(nil) }
        pending.append(
          PendingOperation(
            hash: catalog.hasher.key(url, styleTag: key.style.tag), url: url, style: arena.copy(key.style.bytes),
            digest: Digest(high: 0, low: 0), logicalByteCount: 0, abortsBodies: true, kind: .remove))
      case .put(let key, let bytes, let options):
        let url = arena.copy(key.url)
        let style = arena.copy(key.style.bytes)
        let result: Result<PendingOperation, StoreError> = bytes.withUnsafeBytes { value in
          options.metadata.withUnsafeBytes { metadata in
            do throws(StoreError) {
              var put = try prepare(
                value, url: url, style: key.style, styleBytes: style, metadata: metadata, options: options)
              defer { put.release() }
              if key.style == .original { originals[key.url] = Source(put.digest) }
              if put.followsOriginal, let own = originals[key.url] {
                put.source = own
                put.followsOriginal = false
              } else if put.followsOriginal {
                put.follow(sourceOfOriginal(url, put.hash))
              }
              let twin = earlier[put.digest]?.first { twin in
                guard twin.layout == put.layout, case .put(_, let other, _) = batch.operations[twin.operation] else {
                  return false
                }
                return other == bytes
              }
              if let twin {
                return .success(
                  try place(
                    put, sharing: twin.shared, durability: durability, written: environment.clock.wallMilliseconds()))
              }
              let placed = try place(put, durability: durability)
              if let shared = placed.ownPayload(of: put) {
                earlier[put.digest, default: []].append((index, shared, put.layout))
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
