#if MoreFormats
  import PictureFiles
  import Testing

  @testable import VitrineImages

  @Suite struct GIFDecodingTests {
    private let decoder = ImageDecoder()
    private static let colors: [UInt8] = [200, 10, 20, 30, 40, 250, 0, 0, 0, 90, 80, 70]

    private static func file(
      _ width: Int = 9, _ height: Int = 11, colors: [UInt8]? = colors,
      _ change: (inout GIFFile.Frame) -> Void = { _ in }
    ) -> GIFFile {
      var frame = GIFFile.Frame(width: width, height: height) { x, y in (x + y * 3) % 2 }
      change(&frame)
      return GIFFile(width: width, height: height, colors: colors, frames: [frame])
    }

    @Test(arguments: [false, true]) func pixelsAreThoseOfTheColorTable(_ isInterlaced: Bool) throws {
      let image = try decoder.decode(Self.file { $0.isInterlaced = isInterlaced }.bytes)
      #expect(image.info.format == .gif && image.size == PixelSize(width: 9, height: 11))
      #expect(image.info.isProgressive == isInterlaced && image.info.isLossless && !image.info.isAnimated)
      #expect(!image.hasAlpha)
      for y in 0..<11 {
        for x in 0..<9 {
          #expect(image.color(x, y) == ((x + y * 3) % 2 == 0 ? RGBA(200, 10, 20) : RGBA(30, 40, 250)))
        }
      }
    }

    @Test func colorsOfTheFrameReplaceThoseOfTheFile() throws {
      let image = try decoder.decode(Self.file { $0.colors = [1, 2, 3, 4, 5, 6] }.bytes)
      #expect(image.color(0, 0) == RGBA(1, 2, 3) && image.color(1, 0) == RGBA(4, 5, 6))
      #expect(throws: ImageError.corrupt(.gif, reason: "no colors")) {
        try decoder.decode(Self.file(colors: nil).bytes)
      }
    }

    @Test func transparentIndexIsTransparent() throws {
      let image = try decoder.decode(Self.file { $0.transparent = 1 }.bytes)
      #expect(image.hasAlpha && image.color(0, 0) == RGBA(200, 10, 20) && image.color(1, 0).alpha == 0)
    }

    @Test func firstFrameIsDrawnOnATransparentCanvas() throws {
      var file = Self.file(4, 3) { ($0.left, $0.top) = (2, 1) }
      (file.width, file.height) = (8, 6)
      file.frames.append(GIFFile.Frame(width: 8, height: 6) { _, _ in 3 })
      let image = try decoder.decode(file.bytes)
      #expect(image.info.isAnimated && image.hasAlpha && image.size == PixelSize(width: 8, height: 6))
      #expect(image.color(0, 0).alpha == 0 && image.color(6, 4).alpha == 0)
      #expect(image.color(2, 1) == RGBA(200, 10, 20) && image.color(5, 3).alpha == 255)
    }

    @Test func frameOutsideOfTheCanvasEnlargesIt() throws {
      var file = Self.file(4, 3) { ($0.left, $0.top) = (2, 1) }
      (file.width, file.height) = (1, 1)
      #expect(try decoder.decode(file.bytes).size == PixelSize(width: 6, height: 4))
    }

    @Test func indexWithoutAColorIsTransparentOrBlack() throws {
      let file = Self.file { $0.index = { x, _ in x == 3 ? 100 : 0 } }
      let image = try decoder.decode(file.bytes)
      #expect(image.color(3, 0) == RGBA(0, 0, 0, 255) && image.color(0, 0) == RGBA(200, 10, 20))
      var transparent = file
      transparent.frames[0].transparent = 1
      let other = try decoder.decode(transparent.bytes)
      #expect(other.color(3, 0).alpha == 0)
    }

    @Test func largestSidesAreRejectedBeforeAnAllocation() {
      let bytes = GIFFile(
        width: 65_535, height: 65_535, colors: Self.colors, frames: [.init(width: 1, height: 1) { _, _ in 0 }]
      ).bytes
      #expect { try decoder.decode(bytes) } throws: { error in
        if case .tooLarge(65_535, 65_535, _)? = error as? ImageError { true } else { false }
      }
    }

    @Test func timeLimitEndsADecode() {
      let limits = DecodingLimits(milliseconds: 0)
      #expect(throws: ImageError.tookTooLong(milliseconds: 0)) {
        try ImageDecoder(limits: limits).decode(Self.file().bytes)
      }
    }
  }
#endif
