import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

@Suite struct CornerTests {
  private func coverage(_ mask: RoundedMask) -> [[Float]] {
    (0..<mask.size.height).map { y in
      var row = [Float](repeating: -1, count: mask.size.width)
      row.withUnsafeMutableBufferPointer { mask.cover(row: y, $0.baseAddress!) }
      return row
    }
  }

  private func sum(_ coverage: [[Float]]) -> Double { coverage.joined().reduce(0) { $0 + Double($1) } }

  @Test(arguments: [1, 2, 3, 4, 5, 8, 15, 16, 60, 61, 300])
  func aCircleHasTheAreaOfACircle(_ diameter: Int) {
    let radius = Double(diameter) / 2
    for border in [0, 0.2, radius / 4] {
      let mask = RoundedMask(
        size: PixelSize(width: diameter, height: diameter), cornerRadius: radius, border: border)
      let area = Double.pi * (radius - border) * (radius - border)
      #expect(abs(sum(coverage(mask)) / area - 1) < 1e-4)
    }
  }

  @Test func aRoundedRectangleHasItsArea() {
    var random = SeededRandom(seed: 3)
    for _ in 0..<200 {
      let size = PixelSize(width: 1 + random.below(50), height: 1 + random.below(50))
      let shorter = Double(min(size.width, size.height))
      let outer = shorter / 2 * Double(random.below(1001)) / 1000
      let border = (shorter / 2 - 0.25) * Double(random.below(1001)) / 1000
      let mask = RoundedMask(size: size, cornerRadius: outer, border: border)
      let inner = max(0, outer - border)
      let area =
        (Double(size.width) - 2 * border) * (Double(size.height) - 2 * border) - (4 - Double.pi) * inner * inner
      #expect(abs(sum(coverage(mask)) - area) < 1e-3 + area * 1e-5, "\(size) \(outer) \(border)")
    }
  }

  /// Compares the coverage of each pixel with 64 x 64 points in it.
  @Test func coverageOfAPixelIsItsShareInsideTheShape() {
    let (width, height, radius, border) = (23, 17, 7.3, 1.6)
    let mask = RoundedMask(size: PixelSize(width: width, height: height), cornerRadius: radius, border: border)
    let found = coverage(mask)
    for y in 0..<height {
      for x in 0..<width {
        var inside = 0
        for point in 0..<4096 {
          let px = Double(x) + (Double(point % 64) + 0.5) / 64
          let py = Double(y) + (Double(point / 64) + 0.5) / 64
          let dx = abs(px - Double(width) / 2) - (Double(width) / 2 - radius)
          let dy = abs(py - Double(height) / 2) - (Double(height) / 2 - radius)
          let isInside =
            dx > 0 && dy > 0 ? (dx * dx + dy * dy).squareRoot() < radius - border : max(dx, dy) < radius - border
          if isInside { inside += 1 }
        }
        #expect(abs(Double(found[y][x]) - Double(inside) / 4096) < 0.01, "\(x) \(y)")
      }
    }
  }

  @Test func allFourCornersAreTheSame() throws {
    for name in ["rounded-31x20-r9.5", "rounded-30x30-r15", "rounded-41x41-r20.5-b3.3", "rounded-16x9-r4.5-b1"] {
      let bitmap = try TestPicture.flat(64, 64, [255, 255, 255, 255]).drawn(ImageStyle(name: name))
      let (w, h) = (bitmap.width, bitmap.height)
      for y in 0..<h {
        for x in 0..<w {
          let pixel = bitmap.pixel(x, y)
          #expect(pixel == bitmap.pixel(w - 1 - x, y) && pixel == bitmap.pixel(x, h - 1 - y))
          if w == h { #expect(pixel == bitmap.pixel(y, x)) }
          // White, multiplied by alpha.
          #expect(Set(pixel).count == 1)
        }
      }
    }
  }

  @Test func borderIsTransparentAndTheInsideIsOpaque() throws {
    let bitmap = try TestPicture.noise(90, 70).drawn(.roundedRectangle(40, 30, cornerRadius: 10, borderWidth: 3))
    for y in 0..<30 {
      for x in 0..<40 {
        if x < 3 || x >= 37 || y < 3 || y >= 27 { #expect(bitmap.pixel(x, y) == [0, 0, 0, 0]) }
        if (10..<30).contains(x) && (3..<27).contains(y) || (3..<37).contains(x) && (10..<20).contains(y) {
          #expect(bitmap.pixel(x, y)[3] == 255)
        }
      }
    }
    // The corner of the visible part, which begins inside the border.
    #expect(bitmap.pixel(3, 3) == [0, 0, 0, 0] && bitmap.pixel(6, 6)[3] == 255)
  }

  @Test func theRingAroundACircleIsAsWideAsItsBorder() throws {
    let bitmap = try TestPicture.flat(50, 50, [9, 9, 9, 255]).drawn(.circle(40, borderWidth: 2, scale: 2))
    #expect(bitmap.size == PixelSize(width: 80, height: 80))
    let alpha = bitmap.channel(3)
    for index in alpha.indices {
      let (x, y) = (Double(index % 80) - 39.5, Double(index / 80) - 39.5)
      let far = (x * x + y * y).squareRoot()
      if far > 36.8 { #expect(alpha[index] == 0) }
      if far < 35.2 { #expect(alpha[index] == 255) }
    }
  }

  /// The whole picture lies inside the border, not under it.
  @Test func aBorderHidesNothingOfThePicture() throws {
    // A white frame around black, one pixel wide at the drawn scale.
    let picture = TestPicture(60, 60) { x, y in
      min(x, y, 59 - x, 59 - y) < 2 ? [255, 255, 255, 255] : [0, 0, 0, 255]
    }
    let bitmap = try picture.drawn(.roundedRectangle(40, 40, cornerRadius: 1, borderWidth: 5))
    #expect(bitmap.pixel(4, 20) == [0, 0, 0, 0])
    #expect(bitmap.pixel(5, 20)[0] > 240 && bitmap.pixel(34, 20)[0] > 240 && bitmap.pixel(20, 5)[0] > 240)
    #expect(bitmap.pixel(8, 20)[0] < 30 && bitmap.pixel(8, 20)[3] == 255)
  }

  @Test func roundedSidesKeepACircleACircle() throws {
    // 20.4 points become 20 pixels, and 20.6 points become 21.
    for diameter: Points in [20.4, 20.6, 0.4, 1.2] {
      let style = try ImageStyle.circle(diameter)
      let size = try #require(style.pixelSize)
      let mask = try #require(StylePlan(style, upright: PixelSize(width: 100, height: 100))?.mask)
      let area = Double.pi * Double(size.width * size.width) / 4
      #expect(abs(sum(coverage(mask)) / area - 1) < 1e-4)
    }
  }
}
