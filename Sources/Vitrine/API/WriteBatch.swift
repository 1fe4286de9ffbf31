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

  /// Makes an empty batch.
  public init() {}

  /// The durability in `options` is not used: a batch has one, given to ``CacheStore/write(_:durability:)``.
  public mutating func put(_ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()) {
    operations.append(.put(key, bytes, options))
  }

  /// Adds a removal. A key without an entry is no error.
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
  func largestExtent(segmentByteCount: Int) -> Int {
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
      let most = Segment.largestExtent(head, bytes.count, options.isPageAligned)
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

  /// Changes in the batch. Several changes of one key count each.
  public var count: Int { operations.count }
  /// Whether the batch has no change. To write an empty batch does nothing.
  public var isEmpty: Bool { operations.isEmpty }
}
