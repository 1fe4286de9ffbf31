import PictureFiles
import Testing

@testable import VitrineImages

@Suite struct BMPDecodingTests {
  private let decoder = ImageDecoder()
  private static let colors: [UInt8] = [20, 10, 200, 0, 250, 40, 30, 0]

  @Test(arguments: [1, 2, 4, 8], [false, true]) func indexesGiveColors(_ depth: Int, _ isTopFirst: Bool) throws {
    var file = BMPFile(width: 11, height: 5, depth: depth, isTopFirst: isTopFirst) { x, y in (x + y / 2) % 2 }
    file.colors = Self.colors
    let image = try decoder.decode(file.bytes)
    #expect(image.info.format == .bmp && image.size == PixelSize(width: 11, height: 5) && !image.hasAlpha)
    for y in 0..<5 {
      for x in 0..<11 {
        #expect(image.color(x, y) == ((x + y / 2) % 2 == 0 ? RGBA(200, 10, 20) : RGBA(30, 40, 250)))
      }
    }
  }

  @Test func plainColorsAreRead() throws {
    let file = BMPFile(width: 3, height: 2, depth: 24) { x, y in 0x0A1400 | x << 16 | y }
    #expect(try decoder.decode(file.bytes).color(2, 1) == RGBA(0x0A | 2, 0x14, 1))
    let wide = BMPFile(width: 2, height: 1, depth: 32) { x, _ in 0x0102_0304 }
    #expect(try decoder.decode(wide.bytes).color(1, 0) == RGBA(2, 3, 4))
    let small = BMPFile(width: 1, height: 1, depth: 16) { _, _ in 31 << 10 | 16 << 5 }
    #expect(try decoder.decode(small.bytes).color(0, 0) == RGBA(255, 132, 0))
  }

  @Test func masksSelectTheChannels() throws {
    var file = BMPFile(width: 1, height: 1, depth: 16) { _, _ in 31 | 63 << 5 }
    (file.compression, file.masks) = (3, [0x1F, 0x7E0, 0xF800])
    #expect(try decoder.decode(file.bytes).color(0, 0) == RGBA(255, 255, 0))
    var glass = BMPFile(width: 1, height: 1, depth: 32) { _, _ in 0x40_302010 }
    (glass.compression, glass.masks) = (6, [0xFF, 0xFF00, 0xFF0000, 0xFF00_0000])
    let image = try decoder.decode(glass.bytes)
    #expect(image.hasAlpha && image.color(0, 0) == RGBA(0x10, 0x20, 0x30, 0x40))
  }

  @Test func runsAreExpanded() throws {
    // Three pixels of one color, three single ones with a byte of padding, the next row, a step, one pixel, the end.
    var file = BMPFile(
      width: 6, height: 2, depth: 8, data: [3, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 2, 2, 0, 1, 1, 0, 1])
    (file.compression, file.colors) = (1, Self.colors)
    let image = try decoder.decode(file.bytes)
    let blue = image.colors.map { $0.blue > 100 }
    #expect(blue == [false, false, true, false, false, false] + [true, true, true, false, true, false])
    var half = BMPFile(width: 4, height: 1, depth: 4, data: [4, 0x01, 0, 1])
    (half.compression, half.colors) = (2, Self.colors)
    #expect(try decoder.decode(half.bytes).colors.map { $0.blue > 100 } == [false, true, false, true])
  }

  @Test func damageIsAnError() throws {
    let bytes = BMPFile(width: 5, height: 5, depth: 24) { _, _ in 1 }.bytes
    for count in 6..<bytes.count - 1 {
      #expect(throws: ImageError.truncated(.bmp), "\(count) bytes") { try decoder.decode(Array(bytes[..<count])) }
    }
    for (offset, value) in [(14, 41), (18, 0), (28, 7), (30, 4)] as [(Int, UInt8)] {
      var changed = bytes
      changed[offset] = value
      #expect(throws: ImageError.self) { try decoder.decode(changed) }
    }
    var huge = bytes
    huge.replaceSubrange(18..<26, with: [0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F])
    #expect { try decoder.decode(huge) } throws: { error in
      if case .tooLarge? = error as? ImageError { true } else { false }
    }
  }

  @Test func largestPictureOfAnIconIsDecoded() throws {
    var small = BMPFile(width: 2, height: 2, depth: 8) { _, _ in 0 }
    small.colors = Self.colors
    var large = BMPFile(width: 4, height: 4, depth: 8) { _, _ in 1 }
    large.colors = Self.colors
    let icon = large.icon { x, _ in x == 0 }
    let image = try decoder.decode(BMPFile.ico([(2, 8, small.icon { _, _ in false }), (4, 8, icon)]))
    #expect(image.info.format == .ico && image.size == PixelSize(width: 4, height: 4) && image.hasAlpha)
    #expect(image.color(0, 2).alpha == 0 && image.color(1, 2) == RGBA(30, 40, 250))
    let png = PNGFile(width: 3, height: 3) { x, _ in [x, 2, 3, 4] }.bytes
    #expect(
      try decoder.decode(BMPFile.ico([(2, 8, small.icon { _, _ in false }), (3, 32, png)])).color(2, 0)
        == RGBA(2, 2, 3, 4))
    // Alpha of pixels counts more than the mask.
    let glass = BMPFile(width: 1, height: 1, depth: 32) { _, _ in 0x50_030201 }
    #expect(try decoder.decode(BMPFile.ico([(1, 32, glass.icon { _, _ in true })])).color(0, 0) == RGBA(3, 2, 1, 0x50))
  }

  @Test func changedFilesNeverTrap() async throws {
    var runs = BMPFile(width: 6, height: 2, depth: 8, data: [3, 1, 0, 3, 0, 1, 0, 0, 0, 0, 0, 2, 2, 0, 1, 1, 0, 1])
    (runs.compression, runs.colors) = (1, Self.colors)
    var indexed = BMPFile(width: 9, height: 9, depth: 4) { x, _ in x % 2 }
    indexed.colors = Self.colors
    let files = [
      runs.bytes, indexed.bytes, BMPFile(width: 5, height: 5, depth: 24) { _, _ in 1 }.bytes,
      BMPFile.ico([(9, 4, indexed.icon { x, y in x == y })]),
    ]
    let limits = DecodingLimits(side: 4096, pixelCount: 1 << 18, byteCount: 4 << 20, milliseconds: 5000)
    var pictureCount = 0
    for seed in stride(from: 0, to: 20_000, by: Thoroughness.stride) {
      if seed % 200 == 0 { await Task.yield() }
      var random = SeededRandom(seed: UInt64(seed))
      var changed = files[seed % files.count]
      for _ in 0...random.below(4) { changed[random.below(changed.count)] = UInt8(random.below(256)) }
      if (try? ImageDecoder(limits: limits).decode(changed)) != nil { pictureCount += 1 }
    }
    #expect(pictureCount > 0)
  }
}
