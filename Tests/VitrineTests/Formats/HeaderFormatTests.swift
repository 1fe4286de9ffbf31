import Testing

@testable import Vitrine

/// A store id with bytes that show their positions.
let goldenStore = StoreID(low: 0x0807_0605_0403_0201, high: 0x100F_0E0D_0C0B_0A09)

@Suite struct SegmentHeaderFormatTests {
  let header = SegmentHeader(
    stream: .bitmaps, store: goldenStore, segment: 0x11, fileByteCount: 0x2_0000, opening: 0x21,
    made: 0x0000_0190_1234_5678)

  @Test func aSegmentHeaderHasExactlyTheseBytes() {
    #expect(
      hexText(header.encoded())
        == hexText(
          hex(
            """
            564954525f53454701000000010000000102030405060708090a0b0c0d0e0f10
            1100000000000000000002000000000021000000000000007856341290010000
            0000000000000000000000000000000000000000000000000000000000000000
            0000000000000000000000000000000000000000000000002742c9d7e6d3caec
            """)))
  }

  @Test func aSegmentHeaderIsReadBackAsItWasWritten() {
    for stream in StreamKind.allCases {
      var header = header
      header.stream = stream
      #expect(header.encoded().withUnsafeBytes { SegmentHeader($0) } == header)
    }
  }

  @Test func aChangedOrShortSegmentHeaderIsRefused() {
    expectRefusals(of: header.encoded(), covered: 0..<SegmentHeader.byteCount) { bytes in
      bytes.withUnsafeBytes { SegmentHeader($0) } != nil
    }
  }

  @Test func onlyTheOneSpellingNamesASegmentFile() {
    #expect(SegmentHeader.fileName(0x2A) == "000000000000002a.segment")
    #expect(SegmentHeader.segment(ofFile: "000000000000002a.segment") == 0x2A)
    let last = UInt64(1) << 62 - 1
    #expect(SegmentHeader.segment(ofFile: SegmentHeader.fileName(last)) == last)
    #expect(
      SegmentHeader.segment(ofFile: SegmentHeader.fileName(last + 1)) == nil, "one more could not be counted")
    for name in [
      "000000000000002A.segment", "2a.segment", "+00000000000002a.segment", "000000000000002a.segmen",
      "000000000000002a.segment ", "../00000000000000.segment", "",
    ] {
      #expect(SegmentHeader.segment(ofFile: name) == nil, "\(name)")
    }
  }
}

@Suite struct WALFileHeaderFormatTests {
  let header = WALFileHeader(
    store: goldenStore, use: 0x12, seed: 0x2827_2625_2423_2221, opening: 3, firstSequence: 3 << 36 | 1,
    predecessor: 0x11, predecessorCut: 0x3210, predecessorSequence: 2 << 36 | 9, durableSequence: 2 << 36 | 7)

  @Test func aLogFileHeaderHasExactlyTheseBytes() {
    #expect(
      hexText(header.encoded())
        == hexText(
          hex(
            """
            564954525f57414c01000000000000000102030405060708090a0b0c0d0e0f10
            1200000000000000212223242526272803000000000000000100000030000000
            1100000000000000103200000000000009000000200000000700000020000000
            00000000000000000000000000000000000000000000000055858e8a110068ec
            """)))
  }

  @Test func aLogFileHeaderIsReadBackAsItWasWritten() {
    #expect(header.encoded().withUnsafeBytes { WALFileHeader($0) } == header)
  }

  @Test func aChangedOrShortLogFileHeaderIsRefused() {
    expectRefusals(of: header.encoded(), covered: 0..<WALFileHeader.byteCount) { bytes in
      bytes.withUnsafeBytes { WALFileHeader($0) } != nil
    }
  }

  @Test func sequenceNumbersBeginWithTheirOpening() {
    #expect(Sequence.first(ofOpening: 5) == 5 << 36 | 1)
    #expect(Sequence.opening(Sequence.first(ofOpening: 5)) == 5)
    #expect(!Sequence.isNearlySpent(Sequence.first(ofOpening: 5)))
    #expect(Sequence.isNearlySpent(5 << 36 | 1 << 35))
  }
}

@Suite struct StoreIdentityFormatTests {
  static let identity = {
    var identity = StoreIdentity(
      store: goldenStore, secret: (0..<192).map { UInt8($0) }, byteBudget: 0x1234_5678, entryBudget: 0x9ABC,
      segmentByteCount: 0x2_0000, walFileByteCount: 0x1_0000, durability: .synced, compressionLevel: 3)
    identity.maximumAge = 0x1122_3344
    identity.maximumIdle = 0x5566_7788
    identity.policy = .fifo
    return identity
  }()

  @Test func theIdentityHasExactlyTheseBytes() {
    #expect(
      hexText(Self.identity.encoded())
        == hexText(
          hex(
            """
            5649545253544f5201000000000000000102030405060708090a0b0c0d0e0f10
            0100000000000000000102030405060708090a0b0c0d0e0f1011121314151617
            18191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637
            38393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f5051525354555657
            58595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f7071727374757677
            78797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f9091929394959697
            98999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7
            b8b9babbbcbdbebf7856341200000000bc9a0000000000000000020000000000
            0000010000000000010302000000000044332211000000008877665500000000
            0000000000000000000000000000000000000000000000000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            0000000000000000000000000000000000000000000000000000000000000000
            000000000000000000000000000000000000000000000000b99cfb21ea0fdf76
            """)))
  }

  @Test func theIdentityIsReadBackAsItWasWritten() {
    #expect(Self.identity.encoded().withUnsafeBytes { StoreIdentity.read($0) } == .valid(Self.identity))
  }

  @Test func aChangedOrShortIdentityIsDamaged() {
    expectRefusals(of: Self.identity.encoded(), covered: 0..<StoreIdentity.byteCount) { bytes in
      bytes.withUnsafeBytes { StoreIdentity.read($0) } != .damaged
    }
  }

  @Test func intactIdentityOfALaterVersionIsNotDamage() {
    var identity = Self.identity
    identity.version = 2
    #expect(identity.encoded().withUnsafeBytes { StoreIdentity.read($0) } == .newer(2))
    identity.version = 0
    #expect(identity.encoded().withUnsafeBytes { StoreIdentity.read($0) } == .damaged)
  }

  @Test func optionsOutsideTheirLimitsAreDamage() {
    func reading(_ change: (inout StoreIdentity) -> Void) -> StoreIdentity.Reading {
      var identity = Self.identity
      change(&identity)
      return identity.encoded().withUnsafeBytes { StoreIdentity.read($0) }
    }
    #expect(reading { $0.byteBudget = CacheFormat.smallestBudget - 1 } == .damaged)
    #expect(reading { $0.walFileByteCount = CacheFormat.smallestWALFile - 1 } == .damaged)
    #expect(reading { $0.walFileByteCount = CacheFormat.largestWALFile + 1 } == .damaged)
    #expect(reading { $0.walFileByteCount = .max } == .damaged)
    #expect(reading { $0.compressionLevel = 20 } == .damaged)
    for count in [1, CacheFormat.smallestSegment - 1, CacheFormat.largestSegment + 1, .max] {
      #expect(reading { $0.segmentByteCount = count } == .damaged, "\(count)")
    }
    for count in [0, CacheFormat.smallestSegment, CacheFormat.largestSegment] {
      #expect(reading { $0.segmentByteCount = count } != .damaged, "\(count)")
    }
  }

  @Test func identitiesWithEqualOptionsAreRecognized() {
    var other = Self.identity
    other.generation = 9
    #expect(Self.identity.hasSameOptions(as: other))
    other.entryBudget += 1
    #expect(!Self.identity.hasSameOptions(as: other))
  }
}
