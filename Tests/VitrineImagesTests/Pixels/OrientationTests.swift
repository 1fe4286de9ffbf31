import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct OrientationTests {
  @Test(arguments: Orientation.allCases)
  func storedPictureIsDrawnUpright(_ orientation: Orientation) throws {
    for hasAlpha in [false, true] {
      let picture = TestPicture.noise(37, 21, hasAlpha: hasAlpha)
      let stored = picture.stored(as: orientation)
      let expected = try picture.withRows { try Bitmap(upright: $0, .upright) }
      let turned = try stored.withRows { try Bitmap(upright: $0, orientation) }
      #expect(turned.difference(to: expected) == 0)
      #expect(try stored.drawn(.rectangle(37, 21), orientation).difference(to: expected) == 0)
    }
  }

  /// Scaling columns first or rows first makes no difference except for rounding.
  @Test(
    arguments: Orientation.allCases,
    ["rectangle-20x9", "rectangle-9x20", "square-70", "square-30-fit", "rounded-20x16-r7-b2", "rounded-25x31-r5-fit"])
  func everyStyleIsTheSameInEveryOrientation(_ orientation: Orientation, _ name: String) throws {
    for hasAlpha in [false, true] {
      let picture = TestPicture.noise(53, 34, hasAlpha: hasAlpha)
      let style = try ImageStyle(name: name)
      let expected = try picture.drawn(style)
      #expect(try picture.stored(as: orientation).drawn(style, orientation).difference(to: expected) <= 1)
    }
  }

  @Test(arguments: Orientation.allCases, [PixelFormat.rgb565, .gray8, .rgbx8888])
  func otherFormatsAreTurned(_ orientation: Orientation, _ format: PixelFormat) throws {
    let picture = TestPicture.noise(37, 21)
    let expected = try picture.drawn(.rectangle(37, 21, format: format))
    let turned = try picture.stored(as: orientation).drawn(.rectangle(37, 21, format: format), orientation)
    #expect(turned.difference(to: expected) == 0)
  }

  @Test func invalidExifNumbersMeanUpright() {
    #expect([0, 9, -1, 255].allSatisfy { Orientation(exif: $0) == .upright })
    #expect((1...8).allSatisfy { Orientation(exif: $0).rawValue == $0 })
  }

  @Test func sizesAreTransposedWhereRowsBecomeColumns() throws {
    let picture = PixelSize(width: 4000, height: 3000)
    for orientation in Orientation.allCases {
      let isTurned = orientation.rawValue > 4
      let fit = try StyleRenderer(.square(400, mode: .fit), picture: picture, orientation: orientation)
      #expect(fit.layout.width == (isTurned ? 300 : 400) && fit.layout.height == (isTurned ? 400 : 300))
      let upright = try StyleRenderer(.rectangle(200, 100), picture: orientation.applied(to: picture))
      let stored = try StyleRenderer(.rectangle(200, 100), picture: picture, orientation: orientation)
      #expect(stored.sufficientSize == orientation.applied(to: upright.sufficientSize))
    }
  }
}
