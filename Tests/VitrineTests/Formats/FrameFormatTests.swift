import Testing

@testable import Vitrine

/// A frame at `offset` of a file with `seed`.
enum GoldenFrame {
  static let offset = 512
  static let seed: UInt64 = 0x0123_4567_89AB_CDEF

  static func encode(
    _ changes: [Change], sequence: UInt64 = 3 << 36 | 5, durable: UInt64 = 3 << 36 | 2, count: Int? = nil
  ) -> [UInt8] {
    let buffer = ByteBuffer()
    Frame.begin(buffer)
    for change in changes { change.encode(into: buffer) }
    Frame.finish(
      buffer, offset: offset, seed: seed, sequence: sequence, durableSequence: durable,
      changeCount: count ?? changes.count)
    return Array(buffer.bytes)
  }

  /// The frame at its place in a file that ends with it.
  static func file(_ frame: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: offset) + frame }

  static func parse(_ frame: [UInt8]) -> (Frame.Header, [Change]?)? {
    frame.withUnsafeBytes { frame in
      Frame.parse(frame, at: offset, seed: seed).map { ($0, Frame.changes(frame, at: offset, $0)) }
    }
  }
}

@Suite struct FrameFormatTests {
  @Test func aFrameHasExactlyTheseBytes() {
    #expect(
      hexText(GoldenFrame.encode([.segmentRetired(slot: 4), .removeAll]))
        == hexText(
          hex(
            """
            5646524d38000000050000003000000037e27814c998453c0200000030000000
            020000000000010007000000040000000300000000000000
            """)))
  }

  @Test func aFrameIsReadBackAsItWasWritten() throws {
    let (header, changes) = try #require(GoldenFrame.parse(GoldenFrame.encode(GoldenChange.all)))
    #expect(header.sequence == 3 << 36 | 5)
    #expect(header.durableSequence == 3 << 36 | 2)
    #expect(header.byteCount == GoldenFrame.encode(GoldenChange.all).count)
    #expect(changes == GoldenChange.all)
  }

  @Test func aChangedOrShortFrameIsRefused() {
    let frame = GoldenFrame.encode(GoldenChange.all)
    expectRefusals(of: frame, covered: 0..<frame.count) { GoldenFrame.parse($0) != nil }
  }

  /// Format 1 has no parts: a single one is half of a change.
  @Test func frameInPartsIsRejected() {
    func isTaken(part: UInt16, of parts: UInt16) -> Bool {
      let buffer = ByteBuffer()
      buffer.append(GoldenFrame.encode([.removeAll]))
      buffer.set(part, at: 36)
      buffer.set(parts, at: 38)
      let checksum = Checksum.of(
        UnsafeRawBufferPointer(rebasing: buffer.bytes[0..<16]), UnsafeRawBufferPointer(rebasing: buffer.bytes[24...]),
        seed: Checksum.seed(GoldenFrame.seed, UInt64(GoldenFrame.offset)))
      buffer.set(checksum, at: 16)
      return GoldenFrame.parse(Array(buffer.bytes)) != nil
    }
    #expect(isTaken(part: 0, of: 1))
    for (part, parts) in [(0, 0), (0, 2), (1, 1), (1, 2), (0, 257), (256, 1)] as [(UInt16, UInt16)] {
      #expect(!isTaken(part: part, of: parts), "\(part) of \(parts)")
    }
  }

  @Test func frameUnderAnotherSeedOrAtAnotherPlaceIsRejected() {
    let frame = GoldenFrame.encode([.removeAll])
    (frame + noise(100)).withUnsafeBytes { bytes in
      #expect(Frame.parse(bytes, at: GoldenFrame.offset, seed: GoldenFrame.seed)?.byteCount == frame.count)
      #expect(Frame.parse(bytes, at: GoldenFrame.offset, seed: GoldenFrame.seed + 1) == nil)
      for offset in [0, 8, GoldenFrame.offset - 8, GoldenFrame.offset + frame.count, .max] {
        #expect(Frame.parse(bytes, at: offset, seed: GoldenFrame.seed) == nil)
      }
    }
  }

  @Test func frameWithTooFewChangesIsRejected() throws {
    for count in [3, 1000, Int(UInt32.max)] {
      let frame = GoldenFrame.encode([.removeAll, .segmentRetired(slot: 1)], count: count)
      let (header, changes) = try #require(GoldenFrame.parse(frame))
      #expect(header.changeCount == count)
      #expect(changes == nil)
    }
  }

  @Test func inlineRangesCountFromTheFilesStart() throws {
    let record = noise(130)
    let buffer = ByteBuffer()
    Frame.begin(buffer)
    record.withUnsafeBytes { record in
      Change.put(GoldenChange.put()).encode(into: buffer, record: (record, .init(start: nil, count: 0)))
    }
    Frame.finish(
      buffer, offset: GoldenFrame.offset, seed: GoldenFrame.seed, sequence: 1, durableSequence: 0,
      changeCount: 1)
    let frame = Array(buffer.bytes)
    let (_, changes) = try #require(GoldenFrame.parse(frame))
    guard case .put(let put)? = changes?.first, let inline = put.inline else {
      Issue.record("no inline record")
      return
    }
    #expect(Array(GoldenFrame.file(frame)[inline]) == record)
  }
}
