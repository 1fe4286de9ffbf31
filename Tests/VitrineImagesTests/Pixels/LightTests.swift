import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Resampling mixes light, and only that of visible pixels.
@Suite struct LightTests {
  @Test func everyByteSurvivesConversionToLight() {
    let curve = TransferCurve.sRGB
    for byte in 0..<256 { #expect(curve.byte(curve.light[byte]) == byte) }
    #expect(curve.light[0] == 0 && curve.light[255] == 1)
  }

  @Test func lightBecomesTheNearestByte() {
    let curve = TransferCurve.sRGB
    for byte in 0..<255 {
      let border = TransferCurve.decoded((Double(byte) + 0.5) / 255)
      #expect(curve.byte(Float(border * 0.99999)) == byte)
      #expect(curve.byte(Float(border * 1.00001)) == byte + 1)
    }
    var last: UInt32 = 0
    for step in 0...100_000 {
      let byte = curve.byte(Float(step) / 100_000)
      #expect(byte == last || byte == last + 1)
      last = byte
    }
  }

  @Test func fineCheckerboardBecomesHalfTheLightOfWhite() throws {
    let board = TestPicture(64, 64) { x, y in (x + y) % 2 == 0 ? [0, 0, 0, 255] : [255, 255, 255, 255] }
    for kernel in ResamplingKernel.allCases {
      let bitmap = try board.drawn(.square(16), .upright, kernel)
      // Half of white's light is byte 188. Half of white's byte would be 128.
      #expect(bitmap.channel(1).allSatisfy { (187...189).contains($0) }, "\(kernel)")
    }
  }

  @Test(arguments: ResamplingKernel.allCases, ["square-16", "square-11", "square-27", "rectangle-40x25"])
  func theMeanOfLightIsKept(_ kernel: ResamplingKernel, _ name: String) throws {
    func mean(_ bytes: [UInt8]) -> Double {
      bytes.reduce(0) { $0 + TransferCurve.decoded(Double($1) / 255) } / Double(bytes.count)
    }
    // The picture has the style's proportions, so nothing is cut off. Its values are in the middle, so nothing
    // overshoots.
    let style = try ImageStyle(name: name)
    let size = try #require(style.pixelSize)
    var random = SeededRandom(seed: 5)
    let picture = TestPicture(size.width * 4, size.height * 4) { _, _ in
      let value = UInt8(90 + random.below(80))
      return [value, value, value, 255]
    }
    let before = mean((0..<picture.height).flatMap { y in (0..<picture.width).map { picture.pixel($0, y)[0] } })
    let after = mean(try picture.drawn(style, .upright, kernel).channel(1))
    #expect(abs(after / before - 1) < 0.005)
  }

  @Test(arguments: ResamplingKernel.allCases)
  func aTransparentPixelsColorIsNeverSeen(_ kernel: ResamplingKernel) throws {
    // A green disc with a hard edge on transparent magenta.
    let picture = TestPicture(60, 60, hasAlpha: true) { x, y in
      (x - 30) * (x - 30) + (y - 30) * (y - 30) < 500 ? [0, 200, 0, 255] : [255, 0, 255, 0]
    }
    for name in ["square-17", "square-60", "square-100", "square-3"] {
      let bitmap = try picture.drawn(ImageStyle(name: name), .upright, kernel)
      #expect(bitmap.channel(0).allSatisfy { $0 == 0 } && bitmap.channel(2).allSatisfy { $0 == 0 }, "\(name)")
      for (green, alpha) in zip(bitmap.channel(1), bitmap.channel(3)) {
        #expect(Int(green) == (Int(alpha) * 200 * 2 + 255) / 510)
      }
    }
    let clear = try picture.drawn(.square(12))
    #expect(clear.pixel(0, 0) == [0, 0, 0, 0])
  }

  @Test func colorsNeverExceedAlpha() throws {
    let picture = TestPicture.noise(50, 40, hasAlpha: true)
    for name in ["square-13", "square-40", "square-77", "rounded-30x20-r9.5-b1.5"] {
      let bitmap = try picture.drawn(ImageStyle(name: name))
      let alpha = bitmap.channel(3)
      for channel in 0..<3 { #expect(zip(bitmap.channel(channel), alpha).allSatisfy { $0 <= $1 }) }
    }
  }

  @Test func scaleOfOneKeepsEveryPixel() throws {
    for hasAlpha in [false, true] {
      let picture = TestPicture.noise(23, 19, hasAlpha: hasAlpha)
      let upright = try picture.withRows { try Bitmap(upright: $0, .upright) }
      for kernel in ResamplingKernel.allCases {
        #expect(try picture.drawn(.rectangle(23, 19), .upright, kernel).difference(to: upright) == 0)
        #expect(try picture.drawn(.square(500, mode: .fit), .upright, kernel).difference(to: upright) == 0)
      }
      // A part from the middle of the picture keeps its pixels as well.
      let middle = try picture.drawn(.rectangle(23, 9))
      for x in 0..<23 { for y in 0..<9 { #expect(middle.pixel(x, y) == upright.pixel(x, y + 5)) } }
    }
  }
}
