/// One change of the index, as a frame carries it.
///
/// A change names the record it displaces by the location found when the change was made, so replay compares no
/// keys and reads no segment.
package enum Change: Sendable, Equatable {
  case put(Put)
  case remove(KeyHash, Displaced)
  case removeAll
  case segmentMade(slot: Int, id: UInt64, byteCount: Int)
  /// A segment takes records from now on. Records with a number below `firstSequence` do not count in it; 0 for copies.
  case segmentOpened(slot: Int, stream: StreamKind, firstSequence: UInt64)
  case segmentSealed(slot: Int, byteCount: Int)
  case segmentRetired(slot: Int)
  /// Compaction has copied a record; the copy is durable.
  case moved(Move)

  package struct Put: Sendable, Equatable {
    package var hash: KeyHash
    package var location: Location
    private let units: (head: UInt32, payload: UInt32)
    package var logicalByteCount: Int
    package var content: ContentHash
    /// The location of the record that carries the payload: `location` itself, or another.
    package var contentLocation: Location
    package var displaced: Displaced?
    /// The record has an expiry.
    package var expires: Bool
    /// Eviction skips the entry.
    package var isPinned = false
    /// No original outdates the entry. Set where the record is written; the log does not store it.
    package var isIndependent = false
    /// The mark of the entry's style (``Style/mark(of:)``). The log does not store it; 0 if unknown.
    var styleMark: UInt64 = 0
    private var inlineRange: (start: UInt32, count: UInt32) = (0, 0)

    package var headUnits: Int { Int(units.head) }
    /// 0 for a record without payload.
    package var payloadUnits: Int { Int(units.payload) }
    /// If the frame carries the whole record (rule 3), the range of its bytes in the log file.
    package var inline: Range<Int>? {
      get {
        inlineRange.count == 0 ? nil : Int(inlineRange.start)..<Int(inlineRange.start) + Int(inlineRange.count)
      }
      set { inlineRange = newValue.map { (UInt32($0.lowerBound), UInt32($0.count)) } ?? (0, 0) }
    }

    package init(
      hash: KeyHash, location: Location, headUnits: Int, payloadUnits: Int, logicalByteCount: Int,
      content: ContentHash, contentLocation: Location, displaced: Displaced?, expires: Bool = false
    ) {
      self.hash = hash
      self.location = location
      units = (UInt32(headUnits), UInt32(payloadUnits))
      self.logicalByteCount = logicalByteCount
      self.content = content
      self.contentLocation = contentLocation
      self.displaced = displaced
      self.expires = expires
    }

    package static func == (a: Put, b: Put) -> Bool {
      a.hash == b.hash && a.location == b.location && a.units == b.units && a.logicalByteCount == b.logicalByteCount
        && a.content == b.content && a.contentLocation == b.contentLocation && a.displaced == b.displaced
        && a.inlineRange == b.inlineRange && a.expires == b.expires && a.isPinned == b.isPinned
    }
  }

  /// The live parts of a record, which are read from its copy from now on.
  package struct Move: Sendable, Equatable {
    package var from: Location
    package var to: Location
    /// The record's key; nil if the key has no entry, or if its entry has another record.
    package var key: KeyHash?
    /// The record's payload; nil if no key uses it, or the record has none.
    package var content: ContentHash?
    package var headUnits: Int
    /// The size of the copy's head, which may differ if the payload begins on a page.
    package var copiedHeadUnits: Int
    package var payloadUnits: Int

    package init(
      from: Location, to: Location, key: KeyHash?, content: ContentHash?, headUnits: Int, copiedHeadUnits: Int,
      payloadUnits: Int
    ) {
      self.from = from
      self.to = to
      self.key = key
      self.content = content
      self.headUnits = headUnits
      self.copiedHeadUnits = copiedHeadUnits
      self.payloadUnits = payloadUnits
    }
  }

  /// An entry that a change removes or replaces.
  package struct Displaced: Sendable, Equatable {
    package var location: Location
    package var logicalByteCount: Int
    package var content: ContentHash
    package var contentLocation: Location
    private let head: UInt32
    private var payload: UInt32

    package var headUnits: Int { Int(head) }
    /// The size of its payload, which is dead if no other key uses it.
    package var payloadUnits: Int {
      get { Int(payload) }
      set { payload = UInt32(newValue) }
    }

    package init(
      location: Location, headUnits: Int, logicalByteCount: Int, content: ContentHash, contentLocation: Location,
      payloadUnits: Int
    ) {
      self.location = location
      self.logicalByteCount = logicalByteCount
      self.content = content
      self.contentLocation = contentLocation
      head = UInt32(headUnits)
      payload = UInt32(payloadUnits)
    }
  }

  private enum Kind: UInt8 {
    case put = 1
    case remove, removeAll, segmentMade, segmentOpened, segmentSealed, segmentRetired, moved
  }

  package static let leastByteCount = 8

  // MARK: Writing

  /// Appends the change. `record` is the inline record of a `put`: its head, then its payload.
  package func encode(
    into buffer: ByteBuffer,
    record: (head: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer)? = nil
  ) {
    switch self {
    case .put(let put):
      let inlineByteCount = record.map { $0.head.count + $0.payload.count } ?? 0
      let flags: UInt8 = (put.displaced == nil ? 0 : 1) | (put.expires ? 2 : 0) | (put.isPinned ? 4 : 0)
      Change.begin(.put, flags: flags, number: UInt32(inlineByteCount), buffer)
      buffer.append(put.hash.bits)
      buffer.append(put.location.bits)
      buffer.append(UInt32(put.headUnits))
      buffer.append(UInt32(put.payloadUnits))
      buffer.append(UInt64(put.logicalByteCount))
      buffer.append(put.content.bits)
      buffer.append(put.contentLocation.bits)
      if let displaced = put.displaced { Change.encode(displaced, buffer) }
      if let record {
        buffer.append(record.head)
        buffer.append(record.payload)
        buffer.pad(toMultipleOf: 8)
      }
    case .remove(let hash, let displaced):
      Change.begin(.remove, buffer)
      buffer.append(hash.bits)
      Change.encode(displaced, buffer)
    case .removeAll:
      Change.begin(.removeAll, buffer)
    case .segmentMade(let slot, let id, let byteCount):
      Change.begin(.segmentMade, number: UInt32(slot), buffer)
      buffer.append(id)
      buffer.append(UInt64(byteCount))
    case .segmentOpened(let slot, let stream, let firstSequence):
      Change.begin(.segmentOpened, number: UInt32(slot), buffer)
      buffer.append(UInt64(stream.rawValue))
      buffer.append(firstSequence)
    case .segmentSealed(let slot, let byteCount):
      Change.begin(.segmentSealed, number: UInt32(slot), buffer)
      buffer.append(UInt64(byteCount))
    case .segmentRetired(let slot):
      Change.begin(.segmentRetired, number: UInt32(slot), buffer)
    case .moved(let move):
      Change.begin(.moved, flags: (move.key == nil ? 0 : 1) | (move.content == nil ? 0 : 2), buffer)
      buffer.append(move.from.bits)
      buffer.append(move.to.bits)
      buffer.append(move.key?.bits ?? 0)
      buffer.append(move.content?.bits ?? 0)
      buffer.append(UInt32(move.headUnits))
      buffer.append(UInt32(move.copiedHeadUnits))
      buffer.append(UInt64(move.payloadUnits))
    }
  }

  private static func begin(_ kind: Kind, flags: UInt8 = 0, number: UInt32 = 0, _ buffer: ByteBuffer) {
    buffer.append(kind.rawValue)
    buffer.append(flags)
    buffer.append(UInt16(0))
    buffer.append(number)
  }

  private static func encode(_ displaced: Displaced, _ buffer: ByteBuffer) {
    buffer.append(displaced.location.bits)
    buffer.append(UInt32(displaced.headUnits))
    buffer.append(UInt32(displaced.payloadUnits))
    buffer.append(UInt64(displaced.logicalByteCount))
    buffer.append(displaced.content.bits)
    buffer.append(displaced.contentLocation.bits)
  }

  // MARK: Reading

  /// Reads the next change of a frame's body; nil for bytes that no writer would have written.
  package static func decode(_ reader: inout ByteReader) -> Change? {
    guard let kind = reader.next(UInt8.self).flatMap(Kind.init(rawValue:)), let flags = reader.next(UInt8.self),
      reader.next(UInt16.self) == 0, let number = reader.next(UInt32.self)
    else { return nil }
    let slot = Int(number)
    switch kind {
    case .put:
      guard flags <= 7 else { return nil }
      return decodePut(&reader, flags: flags, inlineByteCount: slot)
    case .remove:
      guard let hash = reader.next(UInt64.self), let displaced = decodeDisplaced(&reader) else { return nil }
      return .remove(KeyHash(bits: hash), displaced)
    case .removeAll:
      return .removeAll
    case .segmentMade:
      guard slot < SegmentTable.slotLimit, let id = reader.next(UInt64.self), id < UInt64(1) << 62,
        let count = byteCount(&reader)
      else {
        return nil
      }
      return .segmentMade(slot: slot, id: id, byteCount: count)
    case .segmentOpened:
      guard slot < SegmentTable.slotLimit, let stream = reader.next(UInt64.self), let kind = streamKind(stream),
        let first = reader.next(UInt64.self)
      else { return nil }
      return .segmentOpened(slot: slot, stream: kind, firstSequence: first)
    case .segmentSealed:
      guard slot < SegmentTable.slotLimit, let count = byteCount(&reader) else { return nil }
      return .segmentSealed(slot: slot, byteCount: count)
    case .segmentRetired:
      return slot < SegmentTable.slotLimit ? .segmentRetired(slot: slot) : nil
    case .moved:
      guard (1...3).contains(flags), let from = location(&reader), let to = location(&reader),
        let key = reader.next(UInt64.self), let content = reader.next(UInt64.self), let head = units(&reader),
        let copiedHead = units(&reader), let payload = reader.next(UInt64.self), payload <= 1 << 25
      else { return nil }
      return .moved(
        Move(
          from: from, to: to, key: flags & 1 == 0 ? nil : KeyHash(bits: key),
          content: flags & 2 == 0 ? nil : ContentHash(bits: content), headUnits: head, copiedHeadUnits: copiedHead,
          payloadUnits: Int(payload)))
    }
  }

  private static func decodePut(_ reader: inout ByteReader, flags: UInt8, inlineByteCount: Int) -> Change? {
    guard let hash = reader.next(UInt64.self), let place = location(&reader), let head = units(&reader),
      let payload = units(&reader), let logical = byteCount(&reader), let content = reader.next(UInt64.self),
      let contentLocation = location(&reader)
    else { return nil }
    var put = Put(
      hash: KeyHash(bits: hash), location: place, headUnits: head, payloadUnits: payload, logicalByteCount: logical,
      content: ContentHash(bits: content), contentLocation: contentLocation, displaced: nil,
      expires: flags & 2 != 0)
    put.isPinned = flags & 4 != 0
    if flags & 1 != 0 {
      guard let displaced = decodeDisplaced(&reader) else { return nil }
      put.displaced = displaced
    }
    if inlineByteCount > 0 {
      let start = reader.offset
      guard inlineByteCount <= (head + payload) * Unit.byteCount, reader.range(roundUp(inlineByteCount, to: 8)) != nil
      else { return nil }
      put.inline = start..<start + inlineByteCount
    }
    return .put(put)
  }

  private static func decodeDisplaced(_ reader: inout ByteReader) -> Displaced? {
    guard let place = location(&reader), let head = units(&reader), let payload = units(&reader),
      let logical = byteCount(&reader), let content = reader.next(UInt64.self), let contentLocation = location(&reader)
    else { return nil }
    return Displaced(
      location: place, headUnits: head, logicalByteCount: logical, content: ContentHash(bits: content),
      contentLocation: contentLocation, payloadUnits: payload)
  }

  private static func location(_ reader: inout ByteReader) -> Location? {
    guard let bits = reader.next(UInt64.self), bits <= Location.mask, bits != 0 else { return nil }
    return Location(bits: bits)
  }

  private static func units(_ reader: inout ByteReader) -> Int? {
    guard let count = reader.next(UInt32.self), count <= 1 << 25 else { return nil }
    return Int(count)
  }

  private static func byteCount(_ reader: inout ByteReader) -> Int? {
    guard let count = reader.next(UInt64.self), count <= 1 << 40 else { return nil }
    return Int(count)
  }

  private static func streamKind(_ value: UInt64) -> StreamKind? {
    UInt32(exactly: value).flatMap(StreamKind.init(rawValue:))
  }
}

extension Change.Displaced {
  /// Describes the entry that `put` made, for a change that displaces it. For a reference, `payloadUnits` is 0.
  package init(entered put: Change.Put) {
    self.init(
      location: put.location, headUnits: put.headUnits, logicalByteCount: put.logicalByteCount, content: put.content,
      contentLocation: put.contentLocation, payloadUnits: put.payloadUnits)
  }
}
