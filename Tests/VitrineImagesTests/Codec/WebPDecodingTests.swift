import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct WebPDecodingTests {
  private let decoder = ImageDecoder()

  @Test func losslessPictureIsDecodedExactly() throws {
    let image = try decoder.decode(ImageEncoder.encode(.glass(16, 12), as: .losslessWebP))
    let png = try decoder.decode(ImageEncoder.encode(.glass(16, 12), as: .png))
    #expect(image.colors == png.colors && image.hasAlpha && image.info.isLossless)
  }

  /// A lossless file's header may deny the transparency of its pixels. The header decides.
  @Test func opaqueHeaderOverridesTransparentPixels() throws {
    var file = try ImageEncoder.encode(.glass(16, 12), as: .losslessWebP)
    let glass = try decoder.decode(file)
    // After 12 bytes of RIFF, 8 of the chunk header and a signature come 14 bits for each side, then the alpha bit.
    #expect(file[12..<16].elementsEqual("VP8L".utf8) && file[20] == 0x2F && file[24] & 0x10 != 0)
    file[24] &= ~0x10
    let image = try decoder.decode(file)
    #expect(!image.hasAlpha)
    #expect(image.colors == glass.colors.map { RGBA($0.red, $0.green, $0.blue, 255) })
    #expect(glass.colors.contains { $0.alpha != 255 })
  }

  @Test func lossyPictureKeepsColorsAndAlpha() throws {
    let image = try decoder.decode(ImageEncoder.encode(.glass(32, 32), as: .webp(quality: 0.9)))
    #expect(image.hasAlpha && !image.info.isLossless && image.info.bitsPerChannel == 8)
    #expect(image.color(0, 0).alpha == 255 && image.color(31, 16).alpha == 127)
    #expect(image.color(2, 2).isNear(RGBA(191, 85, 127), within: 12))
  }

  @Test func theFirstFrameOfAnAnimationLiesOnATransparentCanvas() throws {
    let image = try decoder.decode(WebPFile.animation())
    #expect(image.info.isAnimated && image.hasAlpha)
    #expect(image.size == PixelSize(width: 16, height: 12))
    let frame = try decoder.decode(ImageEncoder.encode(.gradient(8, 6), as: .png))
    for y in 0..<12 {
      for x in 0..<16 {
        let isCovered = (4..<12).contains(x) && (2..<8).contains(y)
        #expect(image.color(x, y) == (isCovered ? frame.color(x - 4, y - 2) : RGBA(0, 0, 0, 0)))
      }
    }
  }

  @Test func laterFramesMayBeMissing() throws {
    let file = try WebPFile.animation()
    let second = try #require(file.indices.last { file[$0...].starts(with: "ANMF".utf8) })
    #expect(try decoder.decode(Array(file[..<second])).colors == decoder.decode(file).colors)
    #expect(throws: ImageError.truncated(.webp)) { try decoder.decode(Array(file[..<60])) }
  }

  @Test(arguments: [(10, 2, 8, 6), (4, 8, 8, 6), (4, 2, 7, 6), (0, 0, 32, 6), (0xFFFFFE, 0, 8, 6)])
  func frameOutsideItsCanvasOrOfAnotherSizeIsAnError(_ x: Int, _ y: Int, _ width: Int, _ height: Int) throws {
    let picture = try WebPFile.picture(.gradient(8, 6), .losslessWebP)
    let file = WebPFile.file([
      WebPFile.extended(16, 12, flags: 0x02), WebPFile.chunk("ANIM", [0, 0, 0, 0, 0, 0]),
      WebPFile.frame(picture, x: x, y: y, width: width, height: height),
    ])
    #expect { try decoder.decode(file) } throws: { error in
      if case .corrupt(.webp, _)? = error as? ImageError { true } else { false }
    }
  }

  @Test func animationWithoutFramesIsAnError() throws {
    let file = WebPFile.file([WebPFile.extended(16, 12, flags: 0x02), WebPFile.chunk("XXXX", [1, 2, 3])])
    #expect(throws: ImageError.truncated(.webp)) { try decoder.decode(file) }
  }
}
