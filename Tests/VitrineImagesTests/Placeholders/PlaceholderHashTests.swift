import Foundation
import Testing
import Vitrine

@testable import VitrineImages

/// The expected texts come from an independent implementation of the two published algorithms, in Python. It agrees
/// with the packages `blurhash-python` 1.2.2 and, for opaque pictures, `thumbhash` 0.1.2.
@Suite struct PlaceholderHashTests {
  /// A decoded picture of 8-bit RGBA pixels.
  private func image(
    _ width: Int, _ height: Int, _ orientation: Orientation = .upright, hasAlpha: Bool = false,
    _ pixel: (Int, Int) -> [Int]
  ) throws -> DecodedImage {
    let size = PixelSize(width: width, height: height)
    let info = ImageInfo(format: .png, size: size, orientation: orientation, hasAlpha: hasAlpha)
    return try DecodedImage(info) { memory, bytesPerRow in
      for y in 0..<height {
        for x in 0..<width {
          for (channel, value) in pixel(x, y).enumerated() {
            memory.storeBytes(
              of: UInt8(truncatingIfNeeded: value), toByteOffset: y * bytesPerRow + x * 4 + channel, as: UInt8.self)
          }
        }
      }
    }
  }

  private func waves(_ x: Int, _ y: Int) -> [Int] { [x * x * 3 + y, 255 - x * 5, y * y, 255] }

  /// Red, green, blue and alpha of an unscaled preview, premultiplied.
  private func color(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> [Int] {
    let start = y * bitmap.layout.bytesPerRow + x * 4
    return [2, 1, 0, 3].map { Int(bitmap.bytes[start + $0]) }
  }

  private func isNear(_ a: [Int], _ b: [Int], within limit: Int = 1) -> Bool {
    zip(a, b).allSatisfy { abs($0 - $1) <= limit }
  }

  // MARK: Known texts

  @Test(arguments: [
    (20, 12, "XSsFPJQIpJlwl3d6h4ZIfwaChw==", "LtF92$P~GBP6x,XOSfsmo3a}a|o2"),
    (12, 20, "oOoEPBYyDIYoeIxnZ6hVfwyFdw==", "TpDX0{HPKLtHSwfjWko0fQksbbbG"),
    (31, 32, "oHkFNxprRYVwZ4eDd0h4iIeKmvfXcHcI", "T$GKQfLsTFork9bGjpo0Wpotf%bG"),
  ])
  func opaquePictureHasItsKnownHashes(_ width: Int, _ height: Int, _ thumbHash: String, _ blurHash: String) throws {
    let image = try image(width, height) { waves($0, $1) }
    #expect(PlaceholderHash(.thumbHash, of: image).text == thumbHash)
    #expect(PlaceholderHash(.blurHash, of: image).text == blurHash)
  }

  @Test(arguments: [
    (9, 7, "nPyEFIwn0Jamh3l3CMxowJgIeCh4iIiHCA=="), (5, 11, "mlqAEgQnlqDXZ5iFfwJ6ioSHgIiIeIg="),
    (30, 15, "H7qFK4onamagh3t4XwSKiYCHhId4eIg="),
  ])
  func transparentPictureHasItsKnownThumbHash(_ width: Int, _ height: Int, _ text: String) throws {
    let image = try image(width, height, hasAlpha: true) { x, y in
      [x * x * 3 + y, 255 - x * 5 % 256, y * y, (x + y) * 255 / (width + height - 2)]
    }
    #expect(PlaceholderHash(.thumbHash, of: image).text == text)
    #expect(PlaceholderHash(.blurHash, of: image).text.utf8.count == 28)
  }

  @Test(arguments: [
    ("1QcSHQRnh493V4dIh4eXh1h4kJUI", 23, 32, [[64, 78, 113], [85, 109, 139], [140, 110, 89], [0, 4, 40]]),
    ("4AcKPxpwh3dwiId4dneFeJiHFwl5gI8H", 32, 32, [[13, 0, 119], [255, 0, 144], [126, 122, 131], [250, 237, 92]]),
  ])
  func knownThumbHashDescribesItsColors(_ text: String, _ width: Int, _ height: Int, _ colors: [[Int]]) throws {
    for text in [text, text.replacing("=", with: "")] {
      let bitmap = try PlaceholderHash(.thumbHash, text).bitmap()
      try #require(bitmap.size == PixelSize(width: width, height: height))
      let places = [(0, 0), (width - 1, 0), (width / 2, height / 2), (width - 1, height - 1)]
      for (place, expected) in zip(places, colors) {
        #expect(isNear(color(bitmap, place.0, place.1), expected + [255]), "\(place)")
      }
    }
  }

  @Test func knownTransparentThumbHashDescribesItsAlpha() throws {
    let bitmap = try PlaceholderHash(.thumbHash, "nPyEFIwn0Jamh3l3CMxowJgIeCh4iIiHCA==").bitmap()
    #expect(bitmap.size == PixelSize(width: 32, height: 26))
    let alphas = [(0, 0), (31, 0), (16, 13), (31, 25)].map { color(bitmap, $0.0, $0.1)[3] }
    #expect(isNear(alphas, [28, 137, 128, 255]))
  }

  @Test(arguments: [
    ("LEHV6nWB2yk8pyo0adR*.7kCMdnj", [[135, 164, 177], [137, 166, 181], [158, 125, 108], [133, 142, 147]]),
    ("LyI5d=35fPxsy}NJfRnQeVf8fQf6", [[90, 0, 26], [231, 0, 39], [157, 173, 77], [182, 175, 55]]),
  ])
  func knownBlurHashDescribesItsColors(_ text: String, _ colors: [[Int]]) throws {
    let bitmap = try PlaceholderHash(.blurHash, text).bitmap()
    try #require(bitmap.size == PixelSize(width: 32, height: 32))
    for (place, expected) in zip([(0, 0), (31, 0), (16, 16), (31, 31)], colors) {
      #expect(isNear(color(bitmap, place.0, place.1), expected + [255]), "\(place)")
    }
  }

  // MARK: Any picture

  @Test(arguments: PlaceholderHash.Kind.allCases)
  func previewResemblesALargePicture(_ kind: PlaceholderHash.Kind) throws {
    let image = try image(800, 500) { x, y in [x * 255 / 799, y * 255 / 499, 128, 255] }
    let hash = PlaceholderHash(kind, of: image)
    #expect(hash.text.utf8.count <= 36 && hash.stored.utf8.count < 50)
    let bitmap = try hash.bitmap(.rectangle(80, 50))
    for (x, y) in [(20, 12), (40, 25), (60, 37), (20, 37)] {
      #expect(isNear(color(bitmap, x, y), [x * 255 / 79, y * 255 / 49, 128, 255], within: 40), "\(x), \(y)")
    }
  }

  @Test(arguments: Orientation.allCases, PlaceholderHash.Kind.allCases)
  func hashDescribesTheUprightPicture(_ orientation: Orientation, _ kind: PlaceholderHash.Kind) throws {
    let image = try image(31, 17, orientation) { waves($0, $1) }
    let upright = try image.rendered([.original])[0]
    #expect(try PlaceholderHash(kind, of: image) == PlaceholderHash(kind, of: upright))
  }

  /// From one pixel to sides at the limits of a long, thin picture.
  @Test(arguments: [(1, 1), (2, 1), (1, 65_535), (20_000, 3), (33, 32)])
  func pictureOfAnyShapeHasAHash(_ width: Int, _ height: Int) throws {
    for hasAlpha in [false, true] {
      let image = try image(width, height, hasAlpha: hasAlpha) { x, y in [x, y, 9, hasAlpha ? x % 2 * 255 : 255] }
      for kind in PlaceholderHash.Kind.allCases {
        let hash = PlaceholderHash(kind, of: image)
        #expect(try PlaceholderHash(kind, hash.text) == hash)
        #expect(PlaceholderHash(stored: hash.stored) == hash)
        #expect(try hash.bitmap(.square(40)).size == PixelSize(width: 40, height: 40))
      }
    }
  }

  @Test func styleWithoutASizeGetsASmallPreview() throws {
    let hash = PlaceholderHash(.thumbHash, of: try image(64, 48) { waves($0, $1) })
    #expect(try hash.bitmap().size.width <= 32)
    let fitted = try hash.bitmap(ImageStyle(name: "square-200-fit"))
    #expect(max(fitted.width, fitted.height) <= 32)
    #expect(throws: ImageError.self) { try hash.bitmap(ImageStyle(name: "free-badge.v2")) }
  }

  // MARK: Invalid texts

  @Test(arguments: [
    "", "L", "LEHV6nWB2yk8pyo0adR*.7kCMdn", "LEHV6nWB2yk8pyo0adR*.7kCMdnjj", "LEHV6nWB2yk8pyo0adR*.7kCMd\"j", "~~~~~~",
    "00~~~~", "L~TSUA~qfQ~q~q%MfQ%MfQfQ~~~~", "é", "\u{0}",
  ])
  func invalidBlurHashIsAnError(_ text: String) {
    #expect(throws: ImageError.self) { try PlaceholderHash(.blurHash, text) }
    #expect(PlaceholderHash(stored: "b" + text) == nil)
  }

  @Test(arguments: [
    "", "AAAA", "AAAAAAA=", "1QcSHQRnh493V4dIh4eXh1h4kJU=", "1QcSHQRnh493V4dIh4eXh1h4kJUIAA==", "no base 64",
    "////////",
    "AACAAAA=", String(repeating: "A", count: 100),
  ])
  func invalidThumbHashIsAnError(_ text: String) {
    #expect(throws: ImageError.self) { try PlaceholderHash(.thumbHash, text) }
    #expect(PlaceholderHash(stored: "t" + text) == nil)
  }

  @Test(arguments: ["", "b", "t", "x1QcSHQRnh493V4dIh4eXh1h4kJUI", "é"])
  func storedTextOfNoKindIsNoHash(_ text: String) { #expect(PlaceholderHash(stored: text) == nil) }

  /// Each text is drawn or refused. Many random ThumbHashes are valid, and few BlurHashes.
  @Test(arguments: [7 as UInt64, 8]) func randomTextIsDrawnOrRefused(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~\" é")
    var drawnCount = 0
    for round in 0..<2000 {
      let bytes = (0..<random.below(28)).map { _ in UInt8(random.below(256)) }
      var text = Array("LEHV6nWB2yk8pyo0adR*.7kCMdnj")
      for _ in 0...random.below(3) { text[random.below(text.count)] = alphabet[random.below(alphabet.count)] }
      for (kind, text) in [
        (.thumbHash, Data(bytes).base64EncodedString()), (.blurHash, String(text)),
      ] as [(PlaceholderHash.Kind, String)] {
        guard let hash = try? PlaceholderHash(kind, text) else { continue }
        drawnCount += 1
        let bitmap = try hash.bitmap()
        #expect(max(bitmap.width, bitmap.height) <= 32, "seed \(seed), round \(round)")
      }
    }
    #expect(drawnCount > 100)
  }
}
