import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// The size of a bitmap, and the part of the picture that it shows.
@Suite struct StylePlanTests {
  static let extremes: [PixelSize] = [
    (1, 1), (1, 16384), (16384, 1), (3, 2), (4000, 3000), (65535, 65535), (2, 65535),
  ]
  .map { PixelSize(width: $0, height: $1) }

  @Test func fillHasExactlyTheStylesSize() throws {
    for picture in StylePlanTests.extremes {
      for name in ["square-60@2x", "rectangle-1x300", "rectangle-300x1", "rounded-31x77-r9-b2.5", "square-0.3"] {
        let style = try ImageStyle(name: name)
        let plan = try #require(StylePlan(style, upright: picture))
        #expect(plan.size == style.pixelSize)
        if plan.mask == nil {
          let part = plan.part
          #expect(part.x >= 0 && part.y >= 0)
          #expect(part.x + part.width <= Double(picture.width) + 1e-6)
          #expect(part.y + part.height <= Double(picture.height) + 1e-6)
          // The part is not stretched, is centered, and reaches two sides of the picture.
          #expect(
            abs(part.width * Double(plan.size.height) - part.height * Double(plan.size.width)) < 1e-6 * part.width
              * Double(plan.size.height))
          #expect(abs(part.x * 2 + part.width - Double(picture.width)) < 1e-6)
          #expect(abs(part.y * 2 + part.height - Double(picture.height)) < 1e-6)
          #expect(min(part.x, part.y) < 1e-6)
        }
      }
    }
  }

  @Test(arguments: [
    ("square-300-fit", 4000, 3000, 300, 225), ("square-300-fit", 3000, 4000, 225, 300),
    ("square-300-fit", 200, 100, 200, 100), ("square-300-fit", 1, 1, 1, 1), ("square-300-fit", 1, 16384, 1, 300),
    ("square-300-fit", 16384, 1, 300, 1), ("square-300-fit", 16384, 60, 300, 1),
    ("rectangle-10x20-fit", 999, 1, 10, 1),
    ("square-1-fit", 4000, 3000, 1, 1), ("square-60-fit@2x", 300, 300, 120, 120),
    // A border leaves less room for the picture, and adds to the size.
    ("rounded-300x300-r20-b10-fit", 4000, 2000, 300, 160), ("rounded-300x300-r20-b10-fit", 40, 20, 60, 40),
    ("rounded-300x300-r20-b10.4-fit", 1, 16384, 22, 300),
  ])
  func fitIsTheLargestSizeWithinTheStyleAndThePicture(
    _ name: String, _ width: Int, _ height: Int, _ expectedWidth: Int, _ expectedHeight: Int
  ) throws {
    let plan = try #require(
      StylePlan(try ImageStyle(name: name), upright: PixelSize(width: width, height: height)))
    #expect(plan.size == PixelSize(width: expectedWidth, height: expectedHeight))
  }

  @Test func everyStyleOfEveryPictureHasASizeAndAPart() throws {
    var random = SeededRandom(seed: 11)
    func side() -> Int { max(1, [1, 2, 3, 60, 1000, 16384, 65535][random.below(7)] - random.below(3)) }
    for _ in 0..<3000 {
      guard let style = RandomStyle.valid(&random) else { continue }
      let picture = PixelSize(width: side(), height: side())
      guard let wanted = style.pixelSize else {
        #expect(StylePlan(style, upright: picture) == nil)
        continue
      }
      let plan = try #require(StylePlan(style, upright: picture))
      #expect(
        (1...wanted.width).contains(plan.size.width) && (1...wanted.height).contains(plan.size.height), "\(style)")
      #expect(plan.part.width > 0 && plan.part.height > 0 && plan.part.width.isFinite && plan.part.height.isFinite)
      let sufficient = plan.sufficientSize(of: picture)
      #expect((1...picture.width).contains(sufficient.width) && (1...picture.height).contains(sufficient.height))
      if let mask = plan.mask { #expect(mask.border * 2 < Double(min(plan.size.width, plan.size.height))) }
    }
  }

  @Test func extremePicturesAreDrawn() throws {
    for (width, height) in [(1, 1), (1, 16384), (16384, 1), (2, 3)] {
      let picture = TestPicture.flat(width, height, [50, 60, 70, 255])
      for name in ["square-6", "square-6-fit", "rounded-9x6-r3-b1.3", "rounded-9x6-r3-b1.3-fit", "square-1"] {
        for orientation in [Orientation.upright, .turnedLeft] {
          let bitmap = try picture.drawn(ImageStyle(name: name), orientation)
          let alpha = bitmap.channel(3)
          #expect(try #require(alpha.max()) > (name.hasPrefix("rounded") ? 90 : 254))
          for (blue, alpha) in zip(bitmap.channel(0), alpha) {
            #expect(Int(blue) == (70 * Int(alpha) * 2 + 255) / 510)
          }
        }
      }
    }
  }

  @Test func aScaledSourceGivesABitmapOfTheSameSize() throws {
    // 1001 x 751 fitted into 300 is 300 x 225. A decoder rounds half of it up, which alone would be 300 x 225.1.
    for (width, height) in [(1001, 751), (333, 1000), (640, 427)] {
      let picture = PixelSize(width: width, height: height)
      let source = TestPicture.flat((width + 1) / 2, (height + 1) / 2, [1, 2, 3, 255])
      for name in ["square-90-fit", "rectangle-70x50", "rounded-50x50-r25-b2"] {
        let renderer = try StyleRenderer(try ImageStyle(name: name), picture: picture)
        let bitmap = try Bitmap(layout: renderer.layout) { memory in
          try source.withRows { try renderer.draw($0, into: &memory) }
        }
        #expect(bitmap.pixel(bitmap.width / 2, bitmap.height / 2) == [3, 2, 1, 255])
      }
    }
  }

  @Test func sufficientSizeCoversTheVisiblePart() throws {
    let factor = StylePlan.sufficientFactor
    let picture = PixelSize(width: 6000, height: 3000)
    // The centered square is half of the picture.
    let fill = try StyleRenderer(.square(300), picture: picture).sufficientSize
    #expect(fill == PixelSize(width: Int((600 * factor).rounded(.up)), height: Int((300 * factor).rounded(.up))))
    let fit = try StyleRenderer(.square(300, mode: .fit), picture: picture).sufficientSize
    #expect(fit == PixelSize(width: Int((300 * factor).rounded(.up)), height: Int((150 * factor).rounded(.up))))
    // The sufficient size is never larger than the picture.
    #expect(try StyleRenderer(.square(2900), picture: picture).sufficientSize == picture)
    let family = try [ImageStyle.square(300), .square(300, mode: .fit), .rectangle(10, 200)].map {
      try StyleRenderer($0, picture: picture)
    }
    let all = try #require(StyleRenderer.sufficientSize(of: family))
    for size in family.map(\.sufficientSize) { #expect(all.width >= size.width && all.height >= size.height) }
    #expect(StyleRenderer.sufficientSize(of: []) == nil)
  }

  @Test func styleOrPictureWithoutASizeIsRefused() throws {
    let picture = PixelSize(width: 10, height: 10)
    let free = try ImageStyle.free("badge") { picture, _ in picture }
    for style in [ImageStyle.original, free] {
      #expect(throws: ImageError.self) { try StyleRenderer(style, picture: picture) }
    }
    #expect(throws: ImageError.self) {
      try StyleRenderer(try .square(10), picture: PixelSize(width: 0, height: 10))
    }
  }
}
