/// Changes that happen together: after any crash, all of them or none. A later change of a key wins over earlier ones.
///
/// A batch copies no bytes: it shares the arrays that it is given.
public struct WriteBatch: Sendable {
  enum Operation: Sendable {
    case put(CacheKey, [UInt8], PutOptions)
    case remove(CacheKey)

    /// The operation, with the pin that earlier ones of the same batch have set.
    func pinned(after isPinned: Bool?) -> Operation {
      guard let isPinned, case .put(let key, let bytes, var options) = self, options.isPinned == nil else {
        return self
      }
      options.isPinned = isPinned
      return .put(key, bytes, options)
    }

    var key: CacheKey {
      switch self {
      case .put(let key, _, _), .remove(let key): key
      }
    }
  }

  private(set) var operations: [Operation] = []
  /// Keys that one operation removes and a later one puts.
  private(set) var removedBefore: Set<CacheKey> = []

  /// Makes an empty batch.
  public init() {}

  /// Adds a put. The durability in `options` is not used; a batch has one durability, given to
  /// ``CacheStore/write(_:durability:)``.
  public mutating func put(_ bytes: [UInt8], for key: CacheKey, options: PutOptions = PutOptions()) {
    operations.append(.put(key, bytes, options))
  }

  /// Adds a removal. A key without an entry is not an error.
  public mutating func remove(_ key: CacheKey) { operations.append(.remove(key)) }

  /// The batch with only the last operation of each key, in order. It records keys that were removed before, because a
  /// removal aborts unfinished bodies.
  var withoutOverwritten: WriteBatch {
    var last: [CacheKey: Int] = [:]
    for (index, operation) in operations.enumerated() { last[operation.key] = index }
    guard last.count < operations.count else { return self }
    var batch = WriteBatch()
    // A put that sets no pin takes the pin that earlier operations of the batch give its key.
    var pins: [CacheKey: Bool] = [:]
    for (index, operation) in operations.enumerated() {
      if last[operation.key] == index {
        batch.operations.append(operation.pinned(after: pins[operation.key]))
      }
      switch operation {
      case .remove(let key):
        pins[key] = false
        if last[key] != index { batch.removedBefore.insert(key) }
      case .put(let key, _, let options): pins[key] = options.isPinned ?? pins[key]
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

  /// Number of bytes of all values.
  var byteCount: Int {
    operations.reduce(0) { sum, operation in
      if case .put(_, let bytes, _) = operation { sum + bytes.count } else { sum }
    }
  }

  /// The largest number of segment bytes that the batch takes. Assumes that nothing is compressed or shared, and that a
  /// record that does not fit behind the previous one begins a segment.
  func largestExtent(segmentByteCount: Int) -> Int {
    var sum = 0
    var room = (originals: 0, bitmaps: 0)
    func add(_ byteCount: Int, _ room: inout Int) {
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
        add(record, &room.originals)
      } else {
        add(record, &room.bitmaps)
      }
    }
    return sum
  }

  /// Number of changes in the batch. Several changes of one key count each.
  public var count: Int { operations.count }
  /// Whether the batch has no changes. Writing an empty batch does nothing.
  public var isEmpty: Bool { operations.isEmpty }
}
