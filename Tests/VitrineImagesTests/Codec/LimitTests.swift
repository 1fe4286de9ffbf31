import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct LimitTests {
  /// Small files whose headers claim the largest sides of their formats.
  private static func giants() -> [[UInt8]] {
    var png = PNGFile(width: 1, height: 1) { _, _ in [0, 0, 0, 0] }.bytes
    png.replaceSubrange(16..<24, with: [0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF])
    var jpeg = JPEGFile.gray
    let frame = jpeg.indices.dropLast().first { jpeg[$0] == 0xFF && jpeg[$0 + 1] == 0xC0 }!
    jpeg.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
    let webp = WebPFile.file([
      WebPFile.chunk("VP8L", [0x2F, 0xFF, 0xFF, 0xFF, 0x0F] + [UInt8](repeating: 0, count: 20))
    ])
    return [
      Array(PNGFile.sealed(png).prefix(60)), Array(png.prefix(60)), Array(png.prefix(30)), jpeg, webp,
      WebPFile.file([WebPFile.extended(1 << 16, 1 << 16 - 1, flags: 2), WebPFile.chunk("ANIM", [0, 0, 0, 0, 0, 0])]),
    ]
  }

  @Test func oversizedHeaderIsRejectedBeforeAnAllocation() {
    for file in Self.giants() {
      #expect { try ImageDecoder().decode(file) } throws: { error in
        if case .tooLarge(let width, let height, _)? = error as? ImageError {
          width > 16_000 && height > 16_000
        } else {
          false
        }
      }
    }
  }

  @Test func infoOfAnOversizedHeaderTellsItsSize() throws {
    let file = Self.giants()[0]
    #expect(try ImageDecoder().info(of: file).size == PixelSize(width: 65_535, height: 65_535))
  }

  private func error(_ limits: DecodingLimits, _ file: [UInt8], atLeast size: PixelSize? = nil) -> ImageError? {
    do throws(ImageError) {
      _ = try ImageDecoder(limits: limits).decode(file, atLeast: size)
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: [ImageEncoder.Encoding.jpeg(), .png, .webp(), .losslessWebP])
  func eachLimitHolds(_ encoding: ImageEncoder.Encoding) throws {
    let file = try ImageEncoder.encode(.gradient(40, 30), as: encoding)
    func tooLarge(_ limit: String) -> ImageError { .tooLarge(width: 40, height: 30, limit: limit) }
    #expect(error(DecodingLimits(side: 39), file) == tooLarge("39 pixels a side"))
    #expect(error(DecodingLimits(side: 40), file) == nil)
    #expect(error(DecodingLimits(pixelCount: 1199), file) == tooLarge("1199 pixels"))
    #expect(error(DecodingLimits(pixelCount: 1200), file) == nil)
    #expect(error(DecodingLimits(byteCount: 5000), file) == tooLarge("5000 bytes of memory"))
    #expect(error(DecodingLimits(byteCount: 20_000), file) == nil)
    #expect(error(DecodingLimits(milliseconds: 0), file) == .tookTooLong(milliseconds: 0))
    #expect(error(DecodingLimits(side: -1, pixelCount: -1, byteCount: -1, milliseconds: -1), file) != nil)
    let greatest = DecodingLimits(side: .max, pixelCount: .max, byteCount: .max, milliseconds: .max)
    #expect(error(greatest, file) == nil)
  }

  @Test func sidesWithAnOverflowingProductAreAlwaysTooLarge() {
    var png = PNGFile(width: 1, height: 1) { _, _ in [0, 0, 0, 0] }.bytes
    png.replaceSubrange(16..<24, with: [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF])
    let limits = DecodingLimits(side: .max, pixelCount: .max, byteCount: .max, milliseconds: .max)
    let side = Int(Int32.max)
    #expect(
      error(limits, PNGFile.sealed(png)) == .tooLarge(width: side, height: side, limit: limits.memoryLimit))
  }

  @Test(arguments: [ImageEncoder.Encoding.jpeg(), .png, .webp()])
  func timeLimitEndsADecodeInProgress(_ encoding: ImageEncoder.Encoding) throws {
    // Noise of 1.6 megapixels, which no machine decodes in 1 ms.
    let noise = try Bitmap(layout: BitmapLayout(width: 1600, height: 1000, format: .gray8)!) { span in
      var random = SeededRandom(seed: 3)
      span.withUnsafeMutableBytes { bytes in
        for offset in stride(from: 0, to: bytes.count, by: 8) {
          bytes.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
        }
      }
    }
    let file = try ImageEncoder.encode(noise, as: encoding)
    #expect(error(DecodingLimits(milliseconds: 1), file) == .tookTooLong(milliseconds: 1))
    #expect(error(DecodingLimits(milliseconds: 300_000), file) == nil)
  }

  @Test func scaledDecodeNeedsOnlyTheMemoryOfItsScale() throws {
    let file = try ImageEncoder.encode(.gradient(64, 64), as: .jpeg())
    let limits = DecodingLimits(byteCount: 8192)
    #expect(error(limits, file) != nil)
    #expect(error(limits, file, atLeast: PixelSize(width: 16, height: 16)) == nil)
  }

  @Test func coefficientsOfAProgressivePictureCountAsMemory() throws {
    // The header claims 512 x 512 pixels, which the scans do not fill. libjpeg allocates an array of coefficients for
    // each channel.
    var file = JPEGFile.progressive
    let frame = try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == 0xC2 })
    file.replaceSubrange(frame + 5..<frame + 9, with: [2, 0, 2, 0])
    let pixels = 512 * 512 * 4
    let limits = DecodingLimits(byteCount: pixels + 512 * 512 * 3)
    #expect(error(limits, file) == .tooLarge(width: 512, height: 512, limit: limits.memoryLimit))
    let tooFewBlocks = "Corrupt JPEG data: premature end of data segment"
    let larger = DecodingLimits(byteCount: pixels + 512 * 512 * 7)
    #expect(error(larger, file) == .corrupt(.jpeg, reason: tooFewBlocks))
  }
}
