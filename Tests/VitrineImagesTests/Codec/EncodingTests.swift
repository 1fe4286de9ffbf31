import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct EncodingTests {
  private let decoder = ImageDecoder()

  @Test(arguments: [PixelFormat.rgba8888, .bgra8888, .rgbx8888, .bgrx8888], [nil, 192])
  func fourByteFormatsWithAnyRowLengthAreEncoded(_ format: PixelFormat, _ bytesPerRow: Int?) throws {
    // In a format without alpha, the fourth byte does not matter.
    let unused: UInt8 = format == .rgbx8888 || format == .bgrx8888 ? 3 : 255
    let bitmap = Bitmap.drawn(11, 5, format: format, bytesPerRow: bytesPerRow) { x, y in
      RGBA(UInt8(x * 20), UInt8(y * 50), 9, unused)
    }
    let image = try decoder.decode(ImageEncoder.encode(bitmap, as: .png))
    #expect(!image.hasAlpha)
    let colors = (0..<55).map { (place: Int) -> RGBA in
      let (x, y) = (place % 11, place / 11)
      return RGBA(UInt8(x * 20), UInt8(y * 50), 9)
    }
    #expect(image.colors == colors)
  }

  @Test func premultipliedAlphaBecomesStraight() throws {
    let bitmap = Bitmap.drawn(4, 1, format: .bgra8888) { x, _ in
      [RGBA(64, 32, 128, 128), RGBA(0, 0, 0, 0), RGBA(9, 8, 7, 255), RGBA(200, 100, 1, 100)][x]
    }
    let colors = [RGBA(128, 64, 255, 128), RGBA(0, 0, 0, 0), RGBA(9, 8, 7, 255), RGBA(255, 255, 3, 100)]
    #expect(try decoder.decode(ImageEncoder.encode(bitmap, as: .png)).colors == colors)
    #expect(try decoder.decode(ImageEncoder.encode(bitmap, as: .losslessWebP)).colors == colors)
  }

  @Test func smallPixelFormatsAreWidened() throws {
    let narrow = try Bitmap(layout: BitmapLayout(width: 3, height: 1, format: .rgb565)!) { span in
      span.withUnsafeMutableBytes { $0.copyBytes(from: [0x00, 0xF8, 0xE0, 0x07, 0xFF, 0xFF]) }
    }
    let png = try decoder.decode(ImageEncoder.encode(narrow, as: .png))
    #expect(png.colors == [RGBA(255, 0, 0), RGBA(0, 255, 0), RGBA(255, 255, 255)])
    let gray = try Bitmap(layout: BitmapLayout(width: 3, height: 1, format: .gray8)!) { span in
      span.withUnsafeMutableBytes { $0.copyBytes(from: [0, 99, 255] as [UInt8]) }
    }
    #expect(try decoder.decode(ImageEncoder.encode(gray, as: .png)).color(1, 0) == RGBA(99, 99, 99))
  }

  @Test(arguments: [ImageEncoder.Encoding.jpeg(quality: 0.8), .jpeg(quality: 1), .webp(quality: 0.8)])
  func lossyPicturesAreNearTheirOriginals(_ encoding: ImageEncoder.Encoding) throws {
    let bitmap = Bitmap.gradient(50, 41)
    let original = try decoder.decode(ImageEncoder.encode(bitmap, as: .png)).colors
    let image = try decoder.decode(ImageEncoder.encode(bitmap, as: encoding))
    #expect(image.size == bitmap.size && image.info.format == encoding.format)
    #expect(zip(image.colors, original).allSatisfy { $0.isNear($1, within: 16) })
  }

  @Test func lowerQualityMakesFewerBytes() throws {
    var random = SeededRandom(seed: 7)
    let noise = Bitmap.drawn(64, 64) { _, _ in
      RGBA(UInt8(random.below(256)), UInt8(random.below(256)), UInt8(random.below(256)))
    }
    for encoding in [ImageEncoder.Encoding.jpeg(quality:), ImageEncoder.Encoding.webp(quality:)] {
      let counts = try [0, 0.5, 0.8, 1].map { try ImageEncoder.encode(noise, as: encoding($0)).count }
      #expect(counts == counts.sorted() && Set(counts).count == 4)
    }
  }

  @Test func opaqueIsJPEGAndTransparentIsPNGByDefault() throws {
    let encoder = ImageEncoder()
    #expect(try encoder.encode(.gradient(9, 9)).format == .jpeg)
    #expect(try encoder.encode(.glass(9, 9)).format == .png)
    let webp = ImageEncoder(opaque: .png, transparent: .webp(quality: 0.5))
    let (bytes, format) = try webp.encode(.glass(9, 9))
    #expect(format == .webp)
    #expect(try decoder.info(of: bytes).hasAlpha)
  }

  @Test func unsupportedEncodingIsAnError() throws {
    func reason(_ bitmap: Bitmap, _ encoding: ImageEncoder.Encoding) -> String? {
      do throws(ImageError) {
        _ = try ImageEncoder.encode(bitmap, as: encoding)
      } catch {
        if case .cannotEncode(encoding.format, let reason) = error { return reason }
      }
      return nil
    }
    #expect(reason(.glass(9, 9), .jpeg()) != nil)
    #expect(reason(.gradient(16_384, 1), .webp()) != nil)
    #expect(reason(.gradient(65_535, 1), .jpeg()) != nil)
    for quality in [-0.1, 1.1, .nan, .infinity] {
      #expect(reason(.gradient(9, 9), .jpeg(quality: quality)) != nil)
      #expect(reason(.gradient(9, 9), .webp(quality: quality)) != nil)
    }
    #expect(reason(.gradient(16_383, 1), .webp()) == nil)
  }

  @Test func encoderAndDecoderMayBeSharedByThreads() async throws {
    let (encoder, decoder) = (ImageEncoder(opaque: .webp()), ImageDecoder())
    try await withThrowingTaskGroup(of: [RGBA].self) { group in
      for _ in 0..<8 { group.addTask { try decoder.decode(encoder.encode(.gradient(40, 40)).bytes).colors } }
      let all = try await group.reduce(into: []) { $0.append($1) }
      #expect(all.allSatisfy { $0 == all[0] })
    }
  }
}
