import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// A picture of one color keeps that color, to the byte.
@Suite struct FlatColorTests {
  static let sizes: [PixelSize] = [(1, 1), (2, 3), (7, 7), (31, 17), (64, 64)].map {
    PixelSize(width: $0, height: $1)
  }
  static let styles = ["square-1", "square-7", "rectangle-13x40", "square-64", "square-9-fit", "rectangle-1x30-fit"]
  static let colors: [[UInt8]] = [
    [0, 0, 0, 255], [255, 255, 255, 255], [1, 2, 3, 255], [200, 100, 7, 255], [254, 128, 63, 255],
    [10, 250, 90, 128],
    [255, 255, 255, 1], [77, 0, 201, 254], [90, 90, 90, 0],
  ]

  @Test(arguments: ResamplingKernel.allCases)
  func everyByteOfEveryColorStaysAtEveryScale(_ kernel: ResamplingKernel) throws {
    for size in FlatColorTests.sizes {
      for name in FlatColorTests.styles {
        for color in FlatColorTests.colors {
          let bitmap = try TestPicture.flat(size.width, size.height, color)
            .drawn(ImageStyle(name: name), .upright, kernel)
          let alpha = Int(color[3])
          let expected = [2, 1, 0].map { UInt8((Int(color[$0]) * alpha * 2 + 255) / 510) } + [color[3]]
          for channel in 0..<4 {
            #expect(Set(bitmap.channel(channel)) == [expected[channel]], "\(size) \(name) \(color)")
          }
        }
      }
    }
  }

  /// All 256 values of a byte, at a fractional scale, where rounding matters most.
  @Test func everyValueOfAByteStays() throws {
    for value in UInt8.min...255 {
      let bitmap = try TestPicture.flat(11, 9, [value, 255 - value, value / 2, 255]).drawn(
        ImageStyle(name: "square-4"))
      #expect(bitmap.channel(2).allSatisfy { $0 == value })
      #expect(bitmap.channel(1).allSatisfy { $0 == 255 - value })
      #expect(bitmap.channel(0).allSatisfy { $0 == value / 2 })
    }
  }

  @Test func everyFormatHasItsBytesInItsOrder() throws {
    func bytes(_ format: PixelFormat, _ color: [UInt8]) throws -> [UInt8] {
      let bitmap = try TestPicture.flat(20, 10, color).drawn(.rectangle(7, 5, format: format))
      #expect(bitmap.layout == BitmapLayout.drawable(width: 7, height: 5, format: format))
      for y in 0..<5 { for x in 0..<7 { #expect(bitmap.pixel(x, y) == bitmap.pixel(0, 0)) } }
      return bitmap.pixel(3, 2)
    }
    // RGB565 has this color: levels 4, 17, 27.
    let color: [UInt8] = [33, 69, 222, 255]
    #expect(try bytes(.bgra8888, color) == [222, 69, 33, 255])
    #expect(try bytes(.rgba8888, color) == [33, 69, 222, 255])
    #expect(try bytes(.bgrx8888, color) == [222, 69, 33, 255])
    #expect(try bytes(.rgbx8888, color) == [33, 69, 222, 255])
    #expect(try bytes(.rgb565, color) == [UInt8((17 << 5 | 27) & 0xFF), UInt8(4 << 3 | 17 >> 3)])
    // 0.0722 of blue's light 0.730, 0.7152 of green's 0.0595 and 0.2126 of red's 0.0152 make 0.0985, which is 88.5.
    #expect([[88], [89]].contains(try bytes(.gray8, color)))
    let half: [UInt8] = [255, 0, 0, 128]
    #expect(try bytes(.bgra8888, half) == [0, 0, 128, 128])
    #expect(try bytes(.rgba8888, half) == [128, 0, 0, 128])
    #expect(try bytes(.bgrx8888, half) == [127, 127, 255, 255])
    #expect(try bytes(.rgbx8888, half) == [255, 127, 127, 255])
    let clear: [UInt8] = [12, 34, 56, 0]
    #expect(try bytes(.rgb565, clear) == [255, 255])
    #expect(try bytes(.gray8, clear) == [255])
  }

  @Test func grayKeepsItsValue() throws {
    for value in UInt8.min...255 {
      let bitmap = try TestPicture.flat(3, 3, [value, value, value, 255]).drawn(.square(2, format: .gray8))
      #expect(bitmap.channel(0).allSatisfy { $0 == value })
    }
  }

  @Test func unusedFourthByteIsIgnored() throws {
    var picture = TestPicture.flat(8, 8, [10, 20, 30, 0])
    picture.hasAlpha = false
    #expect(try picture.drawn(.square(3)).pixel(1, 1) == [30, 20, 10, 255])
    let upright = try picture.withRows { try Bitmap(upright: $0, .upright) }
    #expect(upright.pixel(7, 7) == [30, 20, 10, 255])
  }
}
