import Testing

@testable import Vitrine

/// One change of each kind, with bytes that show their positions.
enum GoldenChange {
  static let hash = KeyHash(bits: 0xF1E2_D3C4_B5A6_9788)
  static let place = Location(slot: 3, offset: 0x1240)
  static let other = Location(slot: 2, offset: 0x80)
  static let content = ContentHash(bits: 0x8877_6655_4433_2211)
  static let displaced = Change.Displaced(
    location: other, headUnits: 3, logicalByteCount: 0x777, content: content, contentLocation: place,
    payloadUnits: 9)

  static func put(displacing displaced: Change.Displaced? = nil) -> Change.Put {
    Change.Put(
      hash: hash, location: place, headUnits: 2, payloadUnits: 5, logicalByteCount: 0x123, content: content,
      contentLocation: other, displaced: displaced)
  }

  static var expiring: Change.Put {
    var put = put()
    put.expires = true
    return put
  }

  static var pinned: Change.Put {
    var put = put()
    put.isPinned = true
    return put
  }

  static let all: [Change] = [
    .put(put()), .put(put(displacing: displaced)), .put(expiring), .put(pinned), .remove(hash, displaced), .removeAll,
    .segmentMade(slot: 4, id: 0x55, byteCount: 0x10000),
    .segmentOpened(slot: 4, stream: .single, firstSequence: 3 << 36 | 8),
    .segmentSealed(slot: 4, byteCount: 0x2000), .segmentRetired(slot: 4), .moved(move(hash, content)),
    .moved(move(nil, content)), .moved(move(hash, nil)),
  ]

  static func move(_ key: KeyHash?, _ content: ContentHash?) -> Change.Move {
    Change.Move(
      from: other, to: place, key: key, content: content, headUnits: 3, copiedHeadUnits: 4, payloadUnits: 5)
  }

  static func encode(_ change: Change, record: [UInt8]? = nil) -> [UInt8] {
    let buffer = ByteBuffer()
    if let record {
      record.withUnsafeBytes { change.encode(into: buffer, record: ($0, .init(start: nil, count: 0))) }
    } else {
      change.encode(into: buffer)
    }
    return Array(buffer.bytes)
  }

  static func decode(_ bytes: [UInt8]) -> Change? {
    bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let change = Change.decode(&reader)
      return reader.remaining == 0 ? change : nil
    }
  }
}

@Suite struct ChangeFormatTests {
  static let golden = [
    """
    01000000000000008897a6b5c4d3e2f14900c000000000000200000005000000
    230100000000000011223344556677880200800000000000
    """,
    """
    01010000000000008897a6b5c4d3e2f14900c000000000000200000005000000
    2301000000000000112233445566778802008000000000000200800000000000
    0300000009000000770700000000000011223344556677884900c00000000000
    """,
    """
    01020000000000008897a6b5c4d3e2f14900c000000000000200000005000000
    230100000000000011223344556677880200800000000000
    """,
    """
    01040000000000008897a6b5c4d3e2f14900c000000000000200000005000000
    230100000000000011223344556677880200800000000000
    """,
    """
    02000000000000008897a6b5c4d3e2f102008000000000000300000009000000
    770700000000000011223344556677884900c00000000000
    """,
    """
    0300000000000000
    """,
    """
    040000000400000055000000000000000000010000000000
    """,
    """
    050000000400000004000000000000000800000030000000
    """,
    """
    06000000040000000020000000000000
    """,
    """
    0700000004000000
    """,
    """
    080300000000000002008000000000004900c000000000008897a6b5c4d3e2f1
    112233445566778803000000040000000500000000000000
    """,
    """
    080200000000000002008000000000004900c000000000000000000000000000
    112233445566778803000000040000000500000000000000
    """,
    """
    080100000000000002008000000000004900c000000000008897a6b5c4d3e2f1
    000000000000000003000000040000000500000000000000
    """,
  ]

  @Test(arguments: zip(GoldenChange.all, golden))
  func eachChangeHasExactlyTheseBytes(_ change: Change, _ golden: String) {
    #expect(hexText(GoldenChange.encode(change)) == hexText(hex(golden)))
  }

  @Test(arguments: GoldenChange.all)
  func eachChangeIsReadBackAsItWasWritten(_ change: Change) {
    #expect(GoldenChange.decode(GoldenChange.encode(change)) == change)
  }

  @Test(arguments: GoldenChange.all)
  func aChangeCutShortIsRefused(_ change: Change) {
    let bytes = GoldenChange.encode(change)
    for count in 0..<bytes.count { #expect(GoldenChange.decode(Array(bytes[..<count])) == nil) }
  }

  @Test func aRecordCarriedInlineIsFoundByItsRange() throws {
    let record = noise(101)
    let bytes = GoldenChange.encode(.put(GoldenChange.put()), record: record)
    #expect(bytes.count == 56 + 104)
    guard case .put(let put)? = GoldenChange.decode(bytes) else {
      Issue.record("not read back")
      return
    }
    let range = try #require(put.inline)
    #expect(Array(bytes[range]) == record)
  }

  @Test func anInlineRecordLongerThanItsUnitsIsRefused() {
    #expect(GoldenChange.decode(GoldenChange.encode(.put(GoldenChange.put()), record: noise(7 * 64))) != nil)
    #expect(
      GoldenChange.decode(GoldenChange.encode(.put(GoldenChange.put()), record: noise(7 * 64 + 1))) == nil)
  }

  @Test func unknownKindsFlagsAndReservedBytesAreRefused() {
    let put = GoldenChange.encode(.put(GoldenChange.put()))
    for (index, value) in [(0, 0), (0, 9), (0, 10), (0, 255), (1, 8), (1, 255), (2, 1), (3, 1)]
      as [(Int, UInt8)]
    {
      var bytes = put
      bytes[index] = value
      #expect(GoldenChange.decode(bytes) == nil, "byte \(index) = \(value)")
    }
  }

  @Test(arguments: GoldenChange.all)
  func numbersThatReachTooFarAreRefusedOrKept(_ change: Change) {
    let bytes = GoldenChange.encode(change)
    for offset in stride(from: 4, to: bytes.count, by: 4) {
      for value: UInt32 in [1 << 31, .max] {
        var changed = bytes
        withUnsafeBytes(of: value.littleEndian) { for index in 0..<4 { changed[offset + index] = $0[index] } }
        // Hashes and sequence numbers may have any value; all other fields have a far lower limit.
        switch GoldenChange.decode(changed) {
        case .put(let put):
          #expect(put.location.bits <= Location.mask && put.logicalByteCount <= 1 << 40)
          #expect(put.headUnits <= 1 << 25 && put.payloadUnits <= 1 << 25)
        case .segmentMade(let slot, _, let byteCount):
          #expect(slot < SegmentTable.slotLimit && byteCount <= 1 << 40)
        case .segmentOpened(let slot, _, _): #expect(slot < SegmentTable.slotLimit)
        case .segmentSealed(let slot, let byteCount):
          #expect(slot < SegmentTable.slotLimit && byteCount <= 1 << 40)
        case .moved(let move):
          #expect(move.from.bits <= Location.mask && move.to.bits <= Location.mask)
          #expect([move.headUnits, move.copiedHeadUnits, move.payloadUnits].allSatisfy { $0 <= 1 << 25 })
        case .segmentRetired(let slot): #expect(slot < SegmentTable.slotLimit)
        default: break
        }
      }
    }
  }
}
