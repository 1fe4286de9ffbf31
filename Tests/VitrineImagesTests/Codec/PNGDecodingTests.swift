import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct PNGDecodingTests {
  private let decoder = ImageDecoder()

  @Test(arguments: [false, true]) func eightBitPixelsWithAlphaAreReadUnchanged(_ isInterlaced: Bool) throws {
    let file = PNGFile(width: 11, height: 9, isInterlaced: isInterlaced) { x, y in [x * 20, y * 25, 7, x * y] }
    let image = try decoder.decode(file.bytes)
    #expect(image.hasAlpha && image.info.isProgressive == isInterlaced && image.info.isLossless)
    for y in 0..<9 {
      for x in 0..<11 { #expect(image.color(x, y) == RGBA(UInt8(x * 20), UInt8(y * 25), 7, UInt8(x * y))) }
    }
  }

  @Test(arguments: [false, true]) func sixteenBitsAreRoundedToEight(_ isInterlaced: Bool) throws {
    let file = PNGFile(width: 4, height: 3, depth: 16, color: .rgb, isInterlaced: isInterlaced) { x, y in
      [x * 257, 0x12FF, 65_535 - y]
    }
    let image = try decoder.decode(file.bytes)
    #expect(image.info.bitsPerChannel == 16 && !image.hasAlpha)
    #expect(image.color(3, 2) == RGBA(3, 0x13, 255))
  }

  @Test(arguments: [1, 2, 4, 8, 16]) func grayOfAnyDepthCoversTheWholeRange(_ depth: Int) throws {
    let file = PNGFile(width: 5, height: 2, depth: depth, color: .gray) { x, _ in [x == 4 ? 1 << depth - 1 : 0] }
    let image = try decoder.decode(file.bytes)
    #expect(image.info.colors == .gray && image.info.bitsPerChannel == depth)
    #expect(image.color(0, 0) == RGBA(0, 0, 0) && image.color(4, 1) == RGBA(255, 255, 255))
  }

  @Test func grayWithAlphaKeepsBoth() throws {
    let file = PNGFile(width: 2, height: 1, color: .grayAlpha) { x, _ in [100, x * 128] }
    #expect(try decoder.decode(file.bytes).colors == [RGBA(100, 100, 100, 0), RGBA(100, 100, 100, 128)])
  }

  @Test(arguments: [1, 2, 4, 8]) func paletteGivesColorsAndTransparency(_ depth: Int) throws {
    let file = PNGFile(
      width: 9, height: 3, depth: depth, color: .palette,
      chunks: [("PLTE", [200, 10, 20, 30, 40, 250]), ("tRNS", [77])]
    ) { x, y in [(x + y) % 2] }
    let image = try decoder.decode(file.bytes)
    #expect(image.hasAlpha && image.info.bitsPerChannel == 8)
    #expect(image.color(0, 0) == RGBA(200, 10, 20, 77) && image.color(8, 1) == RGBA(30, 40, 250))
  }

  @Test func indexBeyondThePaletteDoesNotTrap() throws {
    let file = PNGFile(width: 2, height: 1, color: .palette, chunks: [("PLTE", [1, 2, 3])]) { x, _ in [x * 255] }
    let image = try? decoder.decode(file.bytes)
    #expect(image.map { $0.color(0, 0) == RGBA(1, 2, 3) } ?? true)
  }

  @Test func markedColorBecomesTransparent() throws {
    let gray = PNGFile(width: 2, height: 1, color: .gray, chunks: [("tRNS", [0, 9])]) { x, _ in [9 + x] }
    #expect(try decoder.decode(gray.bytes).colors == [RGBA(9, 9, 9, 0), RGBA(10, 10, 10)])
    let rgb = PNGFile(width: 2, height: 1, color: .rgb, chunks: [("tRNS", [0, 9, 0, 8, 0, 7])]) { x, _ in
      [9, 8, 7 + x]
    }
    #expect(try decoder.decode(rgb.bytes).colors == [RGBA(9, 8, 7, 0), RGBA(9, 8, 8)])
    #expect(try decoder.info(of: rgb.bytes).hasAlpha)
  }

  @Test func invalidTextsAndProfilesAreIgnored() throws {
    // An invalid profile, an invalid compressed text and a long text.
    let chunks: [(name: String, content: [UInt8])] = [
      ("iCCP", Array("name\0\0".utf8) + [1, 2, 3]), ("zTXt", Array("key\0\0".utf8) + [9, 9, 9]),
      ("tEXt", Array("key\0".utf8) + [UInt8](repeating: 65, count: 5000)),
    ]
    let file = PNGFile(width: 1, height: 1, chunks: chunks, lastChunks: chunks) { _, _ in [1, 2, 3, 4] }
    #expect(try decoder.decode(file.bytes).colors == [RGBA(1, 2, 3, 4)])
  }

  @Test func animationIsRecognizedAndItsStillPictureDecoded() throws {
    let file = PNGFile(width: 1, height: 1, chunks: [("acTL", [0, 0, 0, 2, 0, 0, 0, 0])]) { _, _ in [1, 2, 3, 4] }
    let image = try decoder.decode(file.bytes)
    #expect(image.info.isAnimated && image.colors == [RGBA(1, 2, 3, 4)])
    let late = PNGFile(width: 1, height: 1, lastChunks: [("acTL", [0, 0, 0, 2, 0, 0, 0, 0])]) { _, _ in [1, 2, 3, 4] }
    #expect(try !decoder.info(of: late.bytes).isAnimated)
  }

  @Test func wrongChecksumIsAnError() throws {
    var file = PNGFile(width: 3, height: 3) { x, y in [x, y, 0, 255] }.bytes
    file[60] ^= 1
    #expect { try decoder.decode(file) } throws: { error in
      if case .corrupt(.png, _)? = error as? ImageError { true } else { false }
    }
  }
}
