import PictureFiles
import Testing
import Vitrine

@testable import VitrineImages

/// Conversion from one format to another, and the few levels of RGB565.
@Suite struct PixelFormatTests {
  private func dithered(_ byte: UInt32, _ x: Int, _ y: Int) -> (red: Int, green: Int, blue: Int) {
    let word = FewLevels.shared.rgb565(0xFF00_0000 | byte << 16 | byte << 8 | byte, x: x, y: y)
    return (Int(word >> 11), Int(word >> 5 & 63), Int(word & 31))
  }

  @Test func byteEqualToALevelIsNotDithered() {
    for level in 0..<32 {
      let byte = UInt32(FewLevels.expanded(level, 31))
      for place in 0..<64 { #expect(dithered(byte, place % 8, place / 8).red == level) }
    }
    for level in 0..<64 {
      let byte = UInt32(FewLevels.expanded(level, 63))
      for place in 0..<64 { #expect(dithered(byte, place % 8, place / 8).green == level) }
    }
    #expect(FewLevels.expanded(0, 31) == 0 && FewLevels.expanded(31, 31) == 255 && FewLevels.expanded(63, 63) == 255)
  }

  @Test func byteBetweenLevelsIsDitheredToItsMean() {
    for byte in 0..<256 {
      var sums = (red: 0, green: 0)
      for place in 0..<64 {
        let levels = dithered(UInt32(byte), place % 8, place / 8)
        #expect(levels.red == levels.blue)
        let (red, green) = (FewLevels.expanded(levels.red, 31), FewLevels.expanded(levels.green, 63))
        #expect(abs(red - byte) < 9 && abs(green - byte) < 5)
        sums.red += red
        sums.green += green
      }
      #expect(abs(Double(sums.red) / 64 - Double(byte)) < 0.15 && abs(Double(sums.green) / 64 - Double(byte)) < 0.15)
    }
  }

  @Test func neighborsAreDitheredDifferently() {
    // Halfway between two levels, every second pixel is raised.
    let byte = UInt32((FewLevels.expanded(10, 31) + FewLevels.expanded(11, 31)) / 2)
    for y in 0..<8 {
      for x in 0..<8 { #expect(dithered(byte, x, y).red != dithered(byte, x + 1, y).red) }
    }
  }

  @Test func wordsOfRGB565SurviveConversion() {
    for word in UInt16.min...(.max) {
      #expect(FewLevels.shared.rgb565(FewLevels.canonical(word), x: Int(word & 7), y: Int(word >> 13)) == word)
    }
  }

  @Test(arguments: PixelFormat.allCases, PixelFormat.allCases)
  func bitmapIsConvertedBetweenAnyFormats(_ from: PixelFormat, _ to: PixelFormat) throws {
    let picture = TestPicture.noise(19, 11, hasAlpha: true)
    let canonical = try picture.drawn(.rectangle(19, 11))
    let source = try canonical.converted(to: from)
    let converted = try source.converted(to: to)
    #expect(converted.layout == BitmapLayout.drawable(width: 19, height: 11, format: to))
    // Drawing in a format gives the same as converting to it.
    #expect(try picture.drawn(.rectangle(19, 11, format: to)).difference(to: canonical.converted(to: to)) == 0)
    switch (from, to) {
    case (.bgra8888, _), (.rgba8888, _): #expect(converted.difference(to: try canonical.converted(to: to)) == 0)
    case (.bgrx8888, .bgra8888), (.rgbx8888, .bgra8888), (.gray8, .bgra8888), (.rgb565, .bgra8888):
      #expect(converted.channel(3).allSatisfy { $0 == 255 })
      #expect(try converted.converted(to: from).difference(to: source) == 0)
    default: #expect(try converted.converted(to: to).difference(to: converted) == 0)
    }
  }

  @Test func freeFormIsDrawnInTheFormatOfItsStyle() throws {
    let form = FreeForm("badge", version: 3, parameter: "Anna") { picture, context in
      #expect(context.parameter == "Anna" && context.scale == 1.5 && context.format == .rgb565)
      return try picture.converted(to: .rgba8888)
    }
    let picture = TestPicture.flat(6, 4, [255, 0, 0, 255])
    let upright = try picture.withRows { try Bitmap(upright: $0, .turnedLeft) }
    #expect(upright.size == PixelSize(width: 4, height: 6) && upright.layout.format == .bgra8888)
    let drawn = try form.drawn(upright, scale: 1.5, format: .rgb565)
    #expect(drawn.layout.format == .rgb565 && drawn.pixel(3, 5) == [0x00, 0xF8])
    let unknown = FreeForm("badge", version: 3, draw: nil)
    #expect(throws: ImageError.noTransform(name: "badge", version: 3)) {
      try unknown.drawn(upright, scale: 1, format: .bgra8888)
    }
  }

  @Test func packedRowsOfOddLengthAreConverted() throws {
    // With rows of 7 bytes, words of RGB565 begin at odd offsets.
    let layout = try #require(BitmapLayout(width: 3, height: 4, bytesPerRow: 7, format: .rgb565))
    let drawn = try Bitmap(layout: layout) { memory in
      memory.withUnsafeMutableBytes { bytes in
        for y in 0..<4 { for x in 0..<3 { bytes[y * 7 + x * 2 + 1] = UInt8(x << 3) } }
      }
    }
    let converted = try drawn.converted(to: .rgba8888)
    #expect(converted.pixel(2, 3) == [16, 0, 0, 255] && converted.pixel(0, 0) == [0, 0, 0, 255])
    let bitmap = try Bitmap(layout: layout) { memory in try converted.write(into: &memory, layout) }
    #expect(bitmap.difference(to: drawn) == 0)
  }

  @Test func colorsAboveAlphaSpoilNoNeighbor() throws {
    let layout = try #require(BitmapLayout(width: 1, height: 1, format: .bgra8888))
    let wrong = try Bitmap(layout: layout) { memory in
      memory.withUnsafeMutableBytes { $0.copyBytes(from: [250, 10, 250, 100]) }
    }
    #expect(try wrong.converted(to: .bgrx8888).pixel(0, 0) == [255, 165, 255, 255])
  }

  @Test func grayIsAsBrightAsTheColor() throws {
    // The CIE Y of the primaries, encoded: 0.2126 is 127, 0.7152 is 220, 0.0722 is 76.
    for (color, gray) in [([255, 0, 0, 255], 127), ([0, 255, 0, 255], 220), ([0, 0, 255, 255], 76)]
      as [([UInt8], UInt8)]
    {
      #expect(try TestPicture.flat(4, 4, color).drawn(.square(2, format: .gray8)).pixel(0, 0) == [gray])
    }
  }

  @Test func paddingOfARowIsNotWritten() throws {
    let bitmap = try TestPicture.flat(9, 9, [1, 2, 3, 255]).drawn(.square(5))
    bitmap.withPixels { bytes in
      for y in 0..<5 {
        for byte in 20..<64 { #expect(bytes.unsafeLoad(fromByteOffset: y * 64 + byte, as: UInt8.self) == 0x5A) }
      }
    }
  }
}
