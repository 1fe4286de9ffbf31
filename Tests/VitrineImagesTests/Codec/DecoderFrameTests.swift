import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct DecoderFrameTests {
  @Test func frameHasExactlyTheseBytes() {
    let frame = DecoderFrame(.pixels, turn: 0x0102_0304, numbers: [-1, 0x1122], text: "é!")
    var expected = [UInt8](repeating: 0, count: 512)
    expected.replaceSubrange(0..<8, with: [4, 0, 3, 0, 4, 3, 2, 1])
    expected.replaceSubrange(8..<16, with: [UInt8](repeating: 0xFF, count: 8))
    expected.replaceSubrange(16..<18, with: [0x22, 0x11])
    expected.replaceSubrange(88..<91, with: [0xC3, 0xA9, 0x21])
    #expect(frame.bytes == expected && DecoderFrame(expected) == frame)
  }

  @Test func malformedFrameIsRejected() {
    let good = DecoderFrame(.header, text: "x").bytes
    #expect(DecoderFrame(good) != nil)
    for (offset, value) in [(0, 0), (0, 7), (0, 255), (1, 1), (2, 169), (3, 2)] as [(Int, UInt8)] {
      var bytes = good
      bytes[offset] = value
      if offset == 2 { bytes[3] = 1 }
      #expect(DecoderFrame(bytes) == nil, "\(offset) \(value)")
    }
    #expect(DecoderFrame([]) == nil && DecoderFrame(good + [0]) == nil && DecoderFrame(Array(good.dropLast())) == nil)
  }

  @Test func headersAndErrorsAreReadBackUnchanged() throws {
    for (file, format) in [
      (JPEGFile.progressive, ImageFormat.jpeg), (JPEGFile.adobeCMYK, .jpeg), (try WebPFile.animation(), .webp),
      (Exif.insert(Exif.block(8), intoJPEG: JPEGFile.gray), .jpeg),
    ] {
      let info = try ImageDecoder().info(of: file)
      let frame = try #require(DecoderFrame(DecoderFrame(info, turn: 3).bytes))
      #expect(frame.info(of: format) == info && frame.error(of: format) == nil)
      #expect(frame.info(of: format == .jpeg ? .webp : .jpeg) == nil)
    }
    let errors: [ImageError] = [
      .unsupportedFormat(found: "GIF"), .truncated(.png), .corrupt(.png, reason: "why"),
      .tooLarge(width: 7, height: 9, limit: "5 pixels"), .tookTooLong(milliseconds: 4), .outOfMemory(byteCount: .max),
    ]
    for error in errors {
      let frame = try #require(DecoderFrame(DecoderFrame(error, turn: 0).bytes))
      #expect(frame.error(of: .png) == error && frame.info(of: .png) == nil)
    }
  }

  /// No numbers in a frame overflow anything when they become an info, a plan, an error or limits.
  @Test func numbersOfAFrameNeverTrap() {
    let limits = DecodingLimits(side: .max, pixelCount: .max, byteCount: .max, milliseconds: .max)
    for seed in 0..<5000 {
      var random = SeededRandom(seed: UInt64(seed))
      let interesting: [Int64] = [0, 1, -1, .min, .max, 8, 65_535, 65_536, 1 << 24, 1 << 31, 1 << 32, 3, 2, 5]
      var numbers = (0..<10).map { _ in interesting[random.below(interesting.count)] }
      if seed % 2 == 0 {
        let format = Int64(seed / 2 % ImageFormat.builtIn.count)
        (numbers[0], numbers[3], numbers[4], numbers[5], numbers[6]) = (format, 1, 8, 1, 0)
      }
      let frame = DecoderFrame(seed % 7 == 0 ? .failed : .header, numbers: numbers)
      for format in ImageFormat.builtIn {
        guard let info = frame.info(of: format) else { continue }
        _ = try? DecodingPlan(info, atLeast: PixelSize(width: .max, height: .min), limits)
        _ = try? DecodingPlan(info, atLeast: nil, DecodingLimits())
      }
      _ = (frame.error(of: .jpeg)?.description, frame.limits, frame.leastSize)
    }
  }
}
