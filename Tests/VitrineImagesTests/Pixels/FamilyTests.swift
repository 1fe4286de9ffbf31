import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct FamilyTests {
  @Test(arguments: [Orientation.upright, .turnedRight])
  func familyIsDrawnLikeItsMembersAlone(_ orientation: Orientation) throws {
    let picture = TestPicture.noise(61, 47, hasAlpha: true)
    let styles = try [
      "square-20", "rectangle-40x9", "rounded-30x30-r15-b2", "square-25-fit", "square-80", "square-20:RGB565",
      "rectangle-1x47", "square-16:Gray8",
    ].map { try ImageStyle(name: $0) }
    let family = try styles.map { try StyleRenderer($0, picture: picture.size, orientation: orientation) }
    let bitmaps = try picture.withRows { try StyleRenderer.bitmaps(family, $0) }
    #expect(bitmaps.count == styles.count)
    for (style, bitmap) in zip(styles, bitmaps) {
      #expect(bitmap.difference(to: try picture.drawn(style, orientation)) == 0, "\(style)")
    }
    #expect(try picture.withRows { try StyleRenderer.bitmaps([], $0) }.isEmpty)
  }

  @Test func styleIsDrawnIntoGivenMemory() throws {
    let picture = TestPicture.waves(40, 30)
    let renderer = try StyleRenderer(.circle(16), picture: picture.size)
    var memory = [UInt8](repeating: 0xCC, count: renderer.layout.byteCount + 64)
    var whole = memory.mutableSpan
    var span = whole.mutableBytes
    try picture.withRows { try renderer.draw($0, into: &span) }
    let drawn = try picture.drawn(.circle(16))
    for y in 0..<16 {
      for x in 0..<16 { #expect(Array(memory[y * 64 + x * 4..<y * 64 + x * 4 + 4]) == drawn.pixel(x, y)) }
    }
    #expect(memory.suffix(64).allSatisfy { $0 == 0xCC })
  }

  /// The renderer's promise for scaled decodes, with a source whose pixels are means of the picture's pixels.
  @Test func sufficientSourceGivesNearlyTheSamePicture() throws {
    let picture = TestPicture.waves(240, 180)
    let renderer = try StyleRenderer(.square(24), picture: picture.size)
    let sufficient = renderer.sufficientSize
    #expect(sufficient.width < 120 && sufficient.height < 90)
    let half = TestPicture(120, 90) { x, y in
      (0..<4).map { channel in
        let sum = [(0, 0), (1, 0), (0, 1), (1, 1)].reduce(0) {
          $0 + Int(picture.pixel(x * 2 + $1.0, y * 2 + $1.1)[channel])
        }
        return UInt8(sum / 4)
      }
    }
    let small = try Bitmap(layout: renderer.layout) { memory in
      try half.withRows { try renderer.draw($0, into: &memory) }
    }
    #expect(small.difference(to: try picture.drawn(.square(24))) <= 3)
  }
}
