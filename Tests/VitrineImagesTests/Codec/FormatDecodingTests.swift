import Testing
import Vitrine

@testable import VitrineImages

/// A format of the program's own: `DOTS`, the width, the height, and a byte of gray for each pixel.
private struct DotsDecoder: FormatDecoding {
  static let format = ImageFormat("Dots", mimeType: "image/x-dots")
  var format: ImageFormat { DotsDecoder.format }

  func recognizes(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { $0.starts(with: "DOTS".utf8) }
  }

  func info(of bytes: RawSpan) throws(ImageError) -> ImageInfo {
    guard bytes.byteCount >= 6 else { throw .truncated(format) }
    let sides = bytes.withUnsafeBytes { (Int($0[4]), Int($0[5])) }
    return ImageInfo(format: format, size: PixelSize(width: sides.0, height: sides.1), colors: .gray)
  }

  func decode(
    _ bytes: RawSpan, _ info: ImageInfo, atLeast size: PixelSize?, limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    guard bytes.byteCount >= 6 + info.size.width * info.size.height else { throw .truncated(format) }
    return try DecodedImage(info) { (pixels, bytesPerRow) throws(ImageError) in
      for y in 0..<info.size.height {
        for x in 0..<info.size.width {
          let gray = bytes.unsafeLoad(fromByteOffset: 6 + y * info.size.width + x, as: UInt8.self)
          let color = UInt32(gray) * 0x01_0101 | 0xFF00_0000
          pixels.storeBytes(of: color.littleEndian, toByteOffset: y * bytesPerRow + x * 4, as: UInt32.self)
        }
      }
    }
  }
}

@Suite struct FormatDecodingTests {
  private static let file = Array("DOTS".utf8) + [3, 2, 10, 20, 30, 40, 50, 60]

  @Test func formatOfTheProgramIsDecoded() throws {
    let decoder = ImageDecoder(formats: [DotsDecoder()])
    let image = try decoder.decode(Self.file)
    #expect(image.info.format == DotsDecoder.format && image.size == PixelSize(width: 3, height: 2))
    #expect(image.colors.map(\.red) == [10, 20, 30, 40, 50, 60])
    #expect(try decoder.info(of: Self.file) == image.info)
    #expect(throws: ImageError.truncated(DotsDecoder.format)) { try decoder.decode(Array(Self.file.dropLast())) }
    #expect(throws: ImageError.self) { try ImageDecoder().decode(Self.file) }
  }

  @Test func limitsHoldForAFormatOfTheProgram() {
    let decoder = ImageDecoder(limits: DecodingLimits(side: 2), formats: [DotsDecoder()])
    #expect(throws: ImageError.tooLarge(width: 3, height: 2, limit: "2 pixels a side")) {
      try decoder.decode(Self.file)
    }
  }

  @Test func pipelineShowsAFormatOfTheProgram() async throws {
    var configuration = PicturePipeline.Configuration(decoder: ImageDecoder(formats: [DotsDecoder()]))
    configuration.loader = ScriptedLoader { _ in .init(body: Self.file) }
    let pipeline = PicturePipeline(configuration)
    let response = try await pipeline.image(for: PictureRequest("https://x.example/a"))
    #expect(response.bitmap.size == PixelSize(width: 3, height: 2))
  }

  @Test func impossibleSizesOfADecodedImageAreErrors() {
    for (width, height) in [(0, 1), (1, 0), (-1, 1), (.max, 1), (1, .max), (.max, .max), (.max / 4, 4)] {
      let info = ImageInfo(format: DotsDecoder.format, size: PixelSize(width: width, height: height))
      #expect(throws: ImageError.self) {
        try DecodedImage(info) { (_, _) throws(ImageError) in Issue.record("\(width) x \(height) was allocated") }
      }
    }
  }
}
