import Testing

@testable import Vitrine

@Suite struct CountersFormatTests {
  private var counters: Counters {
    var counters = Counters()
    counters.hits = 0x0101
    counters.misses = 0x0202
    counters.bytesPut = 0x0303
    counters.bytesWritten = 0x0404
    counters.openKind = 3
    counters.openMicroseconds = 0x0606
    counters.recovery.replayed = 0x0707
    counters.recovery.dropped = 0x0808
    counters.recovery.lostRemovals = 1
    counters.pinned = 0x0A0A
    counters.eviction.entryCount = 0x0B0B
    counters.eviction.byteCount = 0x0C0C
    for index in 0..<16 { counters.eviction.ages[index] = 0x0D00 + index }
    counters.compaction = CompactionRecord(stepCount: 0x1D, recordCount: 0x1E, byteCount: 0x1F, segmentCount: 0x20)
    return counters
  }

  @Test func countersHaveExactlyTheseBytes() {
    let bytes = counters.encoded()
    #expect(
      hexText(Array(bytes[..<288]))
        == hexText(
          hex(
            """
            564954525f434e54010100000000000002020000000000000303000000000000
            0404000000000000030000000000000006060000000000000707000000000000
            080800000000000001000000000000000a0a0000000000000b0b000000000000
            0c0c000000000000000d000000000000010d000000000000020d000000000000
            030d000000000000040d000000000000050d000000000000060d000000000000
            070d000000000000080d000000000000090d0000000000000a0d000000000000
            0b0d0000000000000c0d0000000000000d0d0000000000000e0d000000000000
            0f0d0000000000001d000000000000001e000000000000001f00000000000000
            2000000000000000000000000000000000000000000000000000000000000000
            """)))
    #expect(bytes.count == 2560 && bytes[288..<504].allSatisfy { $0 == 0 })
    #expect(hexText(Array(bytes[504..<512])) == hexText(hex("802d7900af228c99")))
  }

  @Test func countersAreReadBackAsTheyWereWritten() {
    #expect(Counters(counters.encoded()) == counters)
    #expect(Counters(counters.encoded() + [UInt8](repeating: 7, count: 3584)) == counters)
    #expect(counters.lastOpen?.kind == .recovered && counters.lastOpen?.mayHaveLostRemovals == true)
  }

  @Test func aDamagedHistoryIsEmpty() {
    var written = counters
    for second in 0..<30 {
      written.history.note(.init(time: Int64(second) * 10_000, hits: second * 3, misses: second))
    }
    let bytes = written.encoded()
    #expect(Counters(bytes) == written && written.history.samples.count > 8)
    #expect(Counters(Array(bytes[..<512])) == counters)
    for offset in [512, 520, 528, 600, 2552, 2559] {
      var changed = bytes
      changed[offset] ^= 1
      #expect(Counters(changed) == counters, "\(offset)")
    }
  }

  @Test func countsOfAHistoryAreClampedWithoutOverflow() throws {
    var absurd = counters
    absurd.history.note(.init(time: 0, hits: 0, misses: 0))
    absurd.history.note(.init(time: 1000, hits: .max, misses: .max))
    let read = try #require(Counters(absurd.encoded()))
    let recent = try #require(read.history.lastMinute(at: 1000))
    #expect(recent == StoreStatistics.Lookups(hitCount: 1 << 56, missCount: 1 << 56) && recent.hitRatio == 0.5)
  }

  @Test func aHistoryOfTooManySamplesIsEmpty() {
    var bytes = counters.encoded()
    for value: UInt64 in [85, 1 << 20, .max] {
      withUnsafeBytes(of: value.littleEndian) { bytes.replaceSubrange(520..<528, with: $0) }
      let sum = bytes.withUnsafeBytes {
        Checksum.of(UnsafeRawBufferPointer(rebasing: $0[512..<2552]), seed: 0x5453_485F_5254_4956)
      }
      withUnsafeBytes(of: sum.littleEndian) { bytes.replaceSubrange(2552..<2560, with: $0) }
      #expect(Counters(bytes) == counters)
    }
  }

  @Test func curveLiesBehindTheCounts() throws {
    var written = counters
    written.curve.requestCount = 20_000
    written.curve.missCount = 5000
    written.curve.byteBudget = 1 << 20
    written.curve.valueByteCount = 1_000_000
    written.curve.missesPerMillion = [900_000, 800_000, 500_000, 300_000, 200_000, 100_000, 0]
    let bytes = written.encoded()
    #expect(
      hexText(Array(bytes[256..<352]))
        == hexText(
          hex(
            """
            2000000000000000204e00000000000088130000000000000000100000000000
            40420f0000000000a0bb0d000000000000350c000000000020a1070000000000
            e093040000000000400d030000000000a0860100000000000000000000000000
            """)))
    #expect(bytes[..<264] == counters.encoded()[..<264] && bytes[352..<504].allSatisfy { $0 == 0 })
    #expect(Counters(bytes) == written && counters.curve.curve == nil)
    let curve = try #require(Counters(bytes)?.curve.curve)
    #expect(curve.points.map(\.missRatio) == [0.9, 0.8, 0.5, 0.3, 0.2, 0.1, 0] && curve.missRatio == 0.25)
    let sizes = [125, 250, 500, 1000, 2000, 4000, 8000].map { $0 * 1000 }
    #expect(curve.points.map(\.valueByteCount) == sizes)
  }

  @Test func impossibleCurveIsNone() throws {
    var written = counters
    written.curve.requestCount = 20_000
    written.curve.byteBudget = .max
    written.curve.valueByteCount = .max
    let read = try #require(Counters(written.encoded())?.curve)
    let largest = try #require(read.curve?.points.last)
    let most = Int(Counters.most) * 8
    #expect(largest.byteBudget == most && largest.valueByteCount == most)
    for change: (inout MissCurveRecord) -> Void in [
      { $0.requestCount = 0 }, { $0.missCount = 20_001 }, { $0.byteBudget = 0 }, { $0.missesPerMillion[6] = 1_000_001 },
      { $0.missesPerMillion[0] = .max }, { $0.missCount = .max },
    ] {
      var hostile = written
      change(&hostile.curve)
      #expect(Counters(hostile.encoded())?.curve.curve == nil)
    }
  }

  @Test func changedOrShortCountersAreRejected() {
    expectRefusals(of: Array(counters.encoded()[..<512]), covered: 0..<512) { Counters($0) != nil }
    #expect(Counters([UInt8](repeating: 0, count: 4096)) == nil)
  }

  @Test func implausibleCountersAreClampedWithoutOverflow() throws {
    var absurd = counters
    absurd.hits = .max
    absurd.openKind = .max
    absurd.eviction.byteCount = .max
    absurd.misses = -1
    let read = try #require(Counters(absurd.encoded()))
    #expect(read.hits == 1 << 56 && read.eviction.byteCount == 1 << 56 && read.misses == 0)
    #expect(read.lastOpen == nil)
  }
}
