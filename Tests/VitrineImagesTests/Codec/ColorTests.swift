import CLCMS
import PictureFiles
import Testing

@testable import VitrineImages

/// Colors of pictures with a profile, compared with LittleCMS's own results for single colors.
@Suite struct ColorTests {
  private static let values = [0, 1, 20, 66, 128, 200, 254, 255]

  /// The color of the pixel at x and y of the pictures here, as values of 8 bits.
  private static func color(_ x: Int, _ y: Int) -> [Int] { [values[x], values[y], values[(x * 3 + y) % 8]] }

  private static func isNear(_ color: RGBA, _ expected: [UInt8]) -> Bool {
    color.isNear(RGBA(expected[0], expected[1], expected[2], color.alpha), within: 2)
  }

  @Test(arguments: [ColorProfile.displayP3, .adobeRGB, .proPhoto, .table], [false, true])
  func profileOfAPNGIsApplied(_ profile: ColorProfile, _ isInterlaced: Bool) throws {
    let bytes = profile.bytes
    let file = PNGFile(width: 8, height: 8, isInterlaced: isInterlaced, chunks: [PNGFile.profile(bytes)]) { x, y in
      Self.color(x, y) + [x * 30]
    }
    let image = try ImageDecoder().decode(file.bytes)
    let convert = ColorConversion(bytes, ColorProfile.Format.rgb8)
    var changeCount = 0
    for y in 0..<8 {
      for x in 0..<8 {
        let stored = Self.color(x, y).map { UInt8($0) }
        let expected = convert(stored)
        let color = image.color(x, y)
        #expect(Self.isNear(color, expected), "\(profile) \(stored): \(color), not \(expected)")
        #expect(color.alpha == UInt8(x * 30))
        if !Self.isNear(color, stored) { changeCount += 1 }
      }
    }
    #expect(changeCount > 16, "the profile changes too little for a test")
  }

  @Test(arguments: [ColorProfile.displayP3, .adobeRGB, .proPhoto, .table], [false, true])
  func sixteenBitsAreConvertedFromTheirFullPrecision(_ profile: ColorProfile, _ isInterlaced: Bool) throws {
    let bytes = profile.bytes
    func deep(_ x: Int, _ y: Int) -> [Int] { Self.color(x, y).map { ($0 * 257 + 77 * x) & 0xFFFF } }
    let file = PNGFile(
      width: 8, height: 7, depth: 16, isInterlaced: isInterlaced, chunks: [PNGFile.profile(bytes)]
    ) { x, y in deep(x, y) + [x * 8000] }
    let image = try ImageDecoder().decode(file.bytes)
    // Of a table, LittleCMS itself gives other colors without its optimization.
    let conversions = (profile == .table ? [0] : [0, UInt32(cmsFLAGS_NOOPTIMIZE)]).map { flags in
      ColorConversion(bytes, ColorProfile.Format.rgb16BigEndian, flags: flags)
    }
    for y in 0..<7 {
      for x in 0..<8 {
        var stored: [UInt8] = []
        for value in deep(x, y) { stored.appendBig(value, byteCount: 2) }
        for convert in conversions {
          let expected = convert(stored)
          #expect(Self.isNear(image.color(x, y), expected), "\(deep(x, y)): \(image.color(x, y)), not \(expected)")
        }
        #expect(abs(Int(image.color(x, y).alpha) - x * 8000 / 257) <= 1)
      }
    }
  }

  /// Most channels are dark, where a step of sRGB is the least light. LittleCMS's optimization for 16 bits is off by up
  /// to 16 of 255 there, so it is turned off for the expected colors.
  @Test(arguments: ["P3", "sRGB"], [1, 1.8, 2.2, 3])
  func shadowsOfSixteenBitsAreExact(_ name: String, _ gamma: Double) throws {
    let red = name == "P3" ? [0.680, 0.320, 0.265, 0.690] : [0.64, 0.33, 0.30, 0.60]
    let bytes = ColorProfile.matrix([0.3127, 0.3290] + red + [0.15, 0.06], cmsBuildGamma(nil, gamma))
    let convert = ColorConversion(bytes, ColorProfile.Format.rgb16BigEndian, flags: UInt32(cmsFLAGS_NOOPTIMIZE))
    func deep(_ x: Int, _ y: Int) -> [Int] { [x * x * 50, (y * 997 + x) % 12_000, x * y * 40] }
    let file = PNGFile(width: 32, height: 32, depth: 16, chunks: [PNGFile.profile(bytes)]) { x, y in
      deep(x, y) + [x * 2000]
    }
    let image = try ImageDecoder().decode(file.bytes)
    for y in 0..<32 {
      for x in 0..<32 {
        var stored: [UInt8] = []
        for value in deep(x, y) { stored.appendBig(value, byteCount: 2) }
        let expected = convert(stored)
        #expect(Self.isNear(image.color(x, y), expected), "\(deep(x, y)): \(image.color(x, y)), not \(expected)")
        #expect(abs(Int(image.color(x, y).alpha) - x * 2000 / 257) <= 1)
      }
    }
  }

  @Test(arguments: [8, 16], [1, 1.8, 3]) func shadowsOfGrayAreExact(_ depth: Int, _ gamma: Double) throws {
    let bytes = ColorProfile.saved(cmsCreateGrayProfile(cmsD50_xyY(), cmsBuildGamma(nil, gamma)))
    let convert = ColorConversion(bytes, ColorProfile.Format.gray16, flags: UInt32(cmsFLAGS_NOOPTIMIZE))
    let file = PNGFile(width: 64, height: 1, depth: depth, color: .gray, chunks: [PNGFile.profile(bytes)]) { x, _ in
      [depth == 16 ? x * 257 : x]
    }
    let image = try ImageDecoder().decode(file.bytes)
    for x in 0..<64 {
      var stored: [UInt8] = []
      stored.appendBig(x * 257, byteCount: 2)
      let expected = convert(stored)
      #expect(Self.isNear(image.color(x, 0), expected), "\(x): \(image.color(x, 0)), not \(expected)")
    }
  }

  /// Numbers of a damaged file give colors, and no trap.
  @Test func curveOfAnyNumbersIsConverted() throws {
    let points = [0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.15, 0.06]
    for parameters in [[-3.0], [0], [1e-9], [1e9], [.nan], [.infinity]] {
      let bytes = ColorProfile.matrix(points, cmsBuildParametricToneCurve(nil, 1, parameters))
      if bytes.isEmpty { continue }
      let file = PNGFile(width: 9, height: 1, depth: 16, chunks: [PNGFile.profile(bytes)]) { x, _ in
        [x * 8191, 65_535 - x * 8191, x, 65_535]
      }
      #expect(try ImageDecoder().decode(file.bytes).size.width == 9)
    }
  }

  @Test(arguments: [8, 16], [PNGFile.Color.gray, .grayAlpha])
  func grayProfileIsApplied(_ depth: Int, _ kind: PNGFile.Color) throws {
    let bytes = ColorProfile.gray.bytes
    let scale = depth == 16 ? 257 : 1
    let file = PNGFile(width: 8, height: 1, depth: depth, color: kind, chunks: [PNGFile.profile(bytes)]) { x, _ in
      [Self.values[x] * scale] + (kind == .grayAlpha ? [100 * scale] : [])
    }
    let image = try ImageDecoder().decode(file.bytes)
    let convert = ColorConversion(bytes, ColorProfile.Format.gray8)
    for x in 0..<8 {
      let expected = convert([UInt8(Self.values[x])])
      #expect(Self.isNear(image.color(x, 0), expected), "\(image.color(x, 0)), not \(expected)")
      #expect(image.color(x, 0).alpha == (kind == .grayAlpha ? 100 : 255))
    }
    #expect(image.color(4, 0).red > 140)
  }

  @Test func profileOfAPaletteIsApplied() throws {
    let bytes = ColorProfile.adobeRGB.bytes
    let file = PNGFile(
      width: 2, height: 1, depth: 1, color: .palette,
      chunks: [PNGFile.profile(bytes), ("PLTE", [200, 10, 20, 30, 40, 250]), ("tRNS", [77])]
    ) { x, _ in [x] }
    let image = try ImageDecoder().decode(file.bytes)
    let expected = ColorProfile.converted(bytes, [200, 10, 20], ColorProfile.Format.rgb8)
    #expect(Self.isNear(image.color(0, 0), expected) && image.color(0, 0).alpha == 77)
    #expect(image.color(0, 0).red > 225)
  }

  @Test(arguments: [ColorProfile.displayP3, .table]) func profileOfAWebPIsApplied(_ profile: ColorProfile) throws {
    let bytes = profile.bytes
    let picture = try WebPFile.picture(.glass(16, 8), .losslessWebP)
    let plain = try ImageDecoder().decode(WebPFile.file([WebPFile.extended(16, 8, flags: 0x10), picture]))
    let file = WebPFile.file([WebPFile.extended(16, 8, flags: 0x30), WebPFile.chunk("ICCP", bytes), picture])
    let image = try ImageDecoder().decode(file)
    let convert = ColorConversion(bytes, ColorProfile.Format.rgb8)
    for (color, stored) in zip(image.colors, plain.colors) {
      let expected = convert([stored.red, stored.green, stored.blue])
      #expect(Self.isNear(color, expected) && color.alpha == stored.alpha, "\(color), not \(expected)")
    }
    #expect(image.colors != plain.colors)
  }

  @Test func profileAppliesToTheFrameOfAnAnimation() throws {
    let bytes = ColorProfile.displayP3.bytes
    func file(_ flags: UInt8, _ chunks: [[UInt8]]) throws -> [UInt8] {
      let frame = WebPFile.frame(try WebPFile.picture(.gradient(8, 6), .losslessWebP), x: 4, y: 2, width: 8, height: 6)
      let head = [WebPFile.extended(16, 12, flags: flags)] + chunks + [WebPFile.chunk("ANIM", [0, 0, 0, 0, 0, 0])]
      return WebPFile.file(head + [frame])
    }
    let plain = try ImageDecoder().decode(file(0x02, []))
    let image = try ImageDecoder().decode(file(0x22, [WebPFile.chunk("ICCP", bytes)]))
    let stored = plain.color(6, 4)
    let expected = ColorProfile.converted(bytes, [stored.red, stored.green, stored.blue], ColorProfile.Format.rgb8)
    #expect(Self.isNear(image.color(6, 4), expected) && image.color(6, 4) != stored)
    #expect(image.color(0, 0).alpha == 0)
  }

  /// Parts of 100 bytes in any order are one profile.
  @Test(arguments: [65_519, 100], [nil, 20])
  func profileOfAJPEGIsApplied(_ partSize: Int, _ wanted: Int?) throws {
    let bytes = ColorProfile.displayP3.bytes
    let plain = try ImageEncoder.encode(.gradient(64, 48), as: .jpeg(quality: 0.95))
    let file = JPEGFile.insert(profile: bytes, into: plain, partSize: partSize) { $0.reversed() }
    let size = wanted.map { PixelSize(width: $0, height: 1) }
    let stored = try ImageDecoder().decode(plain, atLeast: size)
    let image = try ImageDecoder().decode(file, atLeast: size)
    #expect(image.size == stored.size && (wanted == nil) == (image.size.width == 64))
    let convert = ColorConversion(bytes, ColorProfile.Format.rgb8)
    for (color, old) in zip(image.colors, stored.colors) {
      let expected = convert([old.red, old.green, old.blue])
      #expect(Self.isNear(color, expected), "\(color), not \(expected)")
    }
    #expect(image.colors != stored.colors)
  }

  @Test func grayJPEGTakesAProfileOfGrayOrOfThreeColors() throws {
    let stored = try ImageDecoder().decode(JPEGFile.gray).color(15, 7).red
    let gray = ColorProfile.gray.bytes
    let image = try ImageDecoder().decode(JPEGFile.insert(profile: gray, into: JPEGFile.gray))
    #expect(Self.isNear(image.color(15, 7), ColorProfile.converted(gray, [stored], ColorProfile.Format.gray8)))
    let rgb = ColorProfile.proPhoto.bytes
    let other = try ImageDecoder().decode(JPEGFile.insert(profile: rgb, into: JPEGFile.gray))
    let expected = ColorProfile.converted(rgb, [stored, stored, stored], ColorProfile.Format.rgb8)
    #expect(Self.isNear(other.color(15, 7), expected) && other.color(15, 7).red > stored + 10)
  }

  @Test(arguments: [JPEGFile.adobeCMYK, JPEGFile.plainCMYK, JPEGFile.ycck])
  func inksAreConvertedByTheirProfile(_ file: [UInt8]) throws {
    let bytes = ColorProfile.inks.bytes
    let image = try ImageDecoder().decode(JPEGFile.insert(profile: bytes, into: file))
    for (x, inks) in [(0, [0, 255, 255, 0]), (15, [255, 0, 0, 128])] as [(Int, [UInt8])] {
      let expected = ColorProfile.converted(bytes, inks, ColorProfile.Format.inks8)
      // The inks of the file are not exact.
      let wanted = RGBA(expected[0], expected[1], expected[2])
      #expect(image.color(x, 3).isNear(wanted, within: 10), "\(image.color(x, 3)), not \(wanted)")
    }
    #expect(!image.color(0, 3).isNear(try ImageDecoder().decode(file).color(0, 3), within: 30))
  }

  @Test func sRGBProfileChangesNothing() throws {
    for bytes in ColorProfile.ofSRGB {
      for depth in [8, 16] {
        let pixels: (Int, Int) -> [Int] = { x, y in Self.color(x, y).map { $0 * (depth == 16 ? 257 : 1) } }
        let file = PNGFile(
          width: 8, height: 8, depth: depth, color: .rgb, chunks: [PNGFile.profile(bytes)], samples: pixels)
        let plain = PNGFile(width: 8, height: 8, depth: depth, color: .rgb, samples: pixels)
        #expect(try ImageDecoder().decode(file.bytes).colors == ImageDecoder().decode(plain.bytes).colors)
      }
    }
  }

  @Test func processAppliesProfiles() throws {
    let decoder = ProcessDecoder(executable: Programs.decoder)
    let jpeg = try ImageEncoder.encode(.gradient(64, 48), as: .jpeg())
    for file in [
      JPEGFile.insert(profile: ColorProfile.displayP3.bytes, into: jpeg),
      JPEGFile.insert(profile: ColorProfile.inks.bytes, into: JPEGFile.ycck),
    ] {
      #expect(try decoder.decode(file).colors == ImageDecoder().decode(file).colors)
    }
  }

  /// More profiles than are kept, on four threads.
  @Test func manyProfilesAtOnceGiveTheColorsOfEach() async throws {
    let pictures = (0..<24).map { number in
      let profile = ColorProfile.matrix(
        [0.3127, 0.3290, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06], cmsBuildGamma(nil, 1.2 + Double(number) / 20))
      let file = PNGFile(width: 1, height: 1, chunks: [PNGFile.profile(profile)]) { _, _ in [128, 60, 200, 255] }
      return (file.bytes, ColorProfile.converted(profile, [128, 60, 200], ColorProfile.Format.rgb8))
    }
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<4 {
        group.addTask {
          for number in 0..<96 {
            let (file, expected) = pictures[(number * (thread + 1) + thread) % pictures.count]
            let color = try? ImageDecoder().decode(file).color(0, 0)
            #expect(color.map { Self.isNear($0, expected) } == true)
          }
        }
      }
    }
  }
}
