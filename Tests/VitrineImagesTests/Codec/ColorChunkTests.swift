import CLCMS
import Foundation
import PictureFiles
import Testing

@testable import VitrineImages

/// The chunks of a PNG that describe its colors, and which of them counts.
@Suite struct ColorChunkTests {
  private typealias Chunk = (name: String, content: [UInt8])
  private static let sample: [UInt8] = [186, 76, 66]
  private static let p3 = [0.3127, 0.3290, 0.680, 0.320, 0.265, 0.690, 0.150, 0.060]
  private static let p3Codes: Chunk = ("cICP", [12, 13, 0, 1])
  private static let p3Points = PNGFile.numbers("cHRM", p3.map { Int(($0 * 100_000).rounded()) })
  private static let sRGBPoints = PNGFile.numbers(
    "cHRM", [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6_000])
  private static let sRGB: Chunk = ("sRGB", [0])

  private static func decoded(
    _ chunks: [Chunk], color: PNGFile.Color = .rgb, _ pixel: [UInt8] = sample
  ) throws -> [UInt8] {
    let file = PNGFile(width: 1, height: 1, color: color, chunks: chunks) { _, _ in pixel.map { Int($0) } }
    let color = try ImageDecoder().decode(file.bytes).color(0, 0)
    return [color.red, color.green, color.blue]
  }

  private static func isNear(_ color: [UInt8], _ expected: [UInt8]) -> Bool {
    zip(color, expected).allSatisfy { abs(Int($0) - Int($1)) <= 2 }
  }

  /// LittleCMS's result for the sample with these points and this curve.
  private static func expected(_ points: [Double], _ curve: OpaquePointer?) -> [UInt8] {
    ColorProfile.converted(ColorProfile.matrix(points, curve), sample, ColorProfile.Format.rgb8)
  }

  private static func curve(_ light: (Double) -> Double) -> OpaquePointer? {
    let table = (0..<4096).map { index in
      let value: Double = min(1, light(Double(index) / 4095))
      return UInt16((value * 65_535).rounded())
    }
    return cmsBuildTabulatedToneCurve16(nil, 4096, table)
  }

  @Test func codesOfDisplayP3GiveTheColorsOfItsProfile() throws {
    let color = try Self.decoded([Self.p3Codes])
    #expect(Self.isNear(color, [201, 66, 60]), "\(color)")
    #expect(Self.isNear(color, Self.expected(Self.p3, ColorProfile.sRGBCurve())))
  }

  @Test func curvesOfVideosAreApplied() throws {
    let wide = [0.3127, 0.3290, 0.708, 0.292, 0.170, 0.797, 0.131, 0.046]
    let video = Self.curve { value in
      if value < 0.081 { return value / 4.5 }
      return pow((value + 0.099) / 1.099, 1 / 0.45)
    }
    #expect(Self.isNear(try Self.decoded([("cICP", [9, 1, 0, 1])]), Self.expected(wide, video)))
    let sRGBPoints = [0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06]
    let linear = Self.expected(sRGBPoints, cmsBuildGamma(nil, 1))
    #expect(Self.isNear(try Self.decoded([("cICP", [1, 8, 0, 1])]), linear))
    // Of a narrow range, 16 is black and 235 is white.
    let narrow: [Chunk] = [("cICP", [1, 13, 0, 0])]
    #expect(Self.isNear(try Self.decoded(narrow, [16, 16, 16]), [0, 0, 0]))
    #expect(Self.isNear(try Self.decoded(narrow, [235, 235, 235]), [255, 255, 255]))
  }

  @Test(arguments: [UInt8(16), 18]) func whiteOfTextsIsWhiteInAnHDRPicture(_ code: UInt8) throws {
    // 203 cd/m2 are 58 % in PQ, and 75 % in HLG.
    let value: UInt8 = code == 16 ? 148 : 191
    let chunks: [Chunk] = [("cICP", [9, code, 0, 1])]
    #expect(try Self.decoded(chunks, [value, value, value]).allSatisfy { $0 >= 250 })
    #expect(try Self.decoded(chunks, [255, 255, 255]) == [255, 255, 255])
    #expect(try Self.decoded(chunks, [value / 2, value / 2, value / 2]).allSatisfy { (40...160).contains($0) })
  }

  @Test func gammaAndPrimariesAreApplied() throws {
    #expect(
      Self.isNear(
        try Self.decoded([PNGFile.numbers("gAMA", [55_556]), Self.p3Points]),
        Self.expected(Self.p3, cmsBuildGamma(nil, 100_000.0 / 55_556))))
    #expect(Self.isNear(try Self.decoded([Self.p3Points]), Self.expected(Self.p3, ColorProfile.sRGBCurve())))
    let sRGBPoints = [0.3127, 0.3290, 0.64, 0.33, 0.30, 0.60, 0.15, 0.06]
    let linear = try Self.decoded([PNGFile.numbers("gAMA", [100_000])])
    #expect(Self.isNear(linear, Self.expected(sRGBPoints, cmsBuildGamma(nil, 1))))
    let gray = try Self.decoded([PNGFile.numbers("gAMA", [100_000])], color: .gray, [66])
    #expect(gray == [UInt8](repeating: gray[0], count: 3) && (133...141).contains(gray[0]))
  }

  @Test func chunksOfSRGBChangeNothing() throws {
    let gamma = PNGFile.numbers("gAMA", [45_455])
    for chunks in [
      [Self.sRGB], [gamma], [Self.sRGBPoints], [gamma, Self.sRGBPoints], [Self.sRGB, gamma], [("cICP", [1, 13, 0, 1])],
    ]
      as [[Chunk]]
    {
      #expect(try Self.decoded(chunks) == Self.sample)
    }
  }

  @Test func moreSpecificChunkCounts() throws {
    let profile = PNGFile.profile(ColorProfile.adobeRGB.bytes)
    let byProfile = ColorProfile.converted(ColorProfile.adobeRGB.bytes, Self.sample, ColorProfile.Format.rgb8)
    let gamma = PNGFile.numbers("gAMA", [100_000])
    // Codes before a profile, a profile before sRGB, sRGB before gamma and primaries, in any order in the file.
    for (chunks, expected) in [
      ([Self.p3Codes, profile], [201, 66, 60]), ([profile, Self.p3Codes, Self.sRGB], [201, 66, 60]),
      ([Self.sRGB, profile], byProfile), ([gamma, profile], byProfile),
      ([Self.sRGB, gamma, Self.p3Points], Self.sample), ([gamma, Self.sRGB], Self.sample),
    ] as [([Chunk], [UInt8])] {
      let color = try Self.decoded(chunks)
      #expect(Self.isNear(color, expected), "\(chunks.map(\.name)): \(color), not \(expected)")
    }
  }

  @Test func codesWithoutColorsAreIgnored() throws {
    // Unspecified primaries, unknown curves, a matrix, a range of neither kind, and wrong lengths.
    for codes in [
      [2, 13, 0, 1], [12, 2, 0, 1], [12, 200, 0, 1], [12, 13, 1, 1], [12, 13, 0, 2], [], [12, 13, 0],
      [12, 13, 0, 1, 0],
    ]
      as [[UInt8]]
    {
      #expect(try Self.decoded([("cICP", codes)]) == Self.sample, "\(codes)")
      #expect(Self.isNear(try Self.decoded([("cICP", codes), Self.p3Points]), [201, 66, 60]), "\(codes)")
    }
  }

  @Test func codesWithAWrongChecksumOrBehindThePaletteAreIgnored() throws {
    var file = PNGFile(width: 1, height: 1, color: .rgb, chunks: [Self.p3Codes]) { _, _ in [186, 76, 66] }.bytes
    file[8 + 25 + 12 + 3] ^= 1
    #expect(try ImageDecoder().decode(file).color(0, 0) == RGBA(186, 76, 66))
    let late = PNGFile(
      width: 1, height: 1, depth: 8, color: .palette, chunks: [("PLTE", Self.sample), Self.p3Codes]
    ) { _, _ in [0] }
    #expect(try ImageDecoder().decode(late.bytes).color(0, 0) == RGBA(186, 76, 66))
  }
}
