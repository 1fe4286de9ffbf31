import PictureFiles
import Testing

@testable import VitrineImages

/// Profiles that do not describe the picture's colors are ignored, as browsers do.
@Suite struct IgnoredProfileTests {
  private static func png(_ profile: [UInt8], _ color: PNGFile.Color = .rgb) -> [UInt8] {
    PNGFile(width: 1, height: 1, color: color, chunks: [PNGFile.profile(profile)]) { _, _ in [186, 76, 66] }.bytes
  }

  private static func webp(_ profile: [UInt8], flags: UInt8 = 0x20) throws -> [UInt8] {
    WebPFile.file([
      WebPFile.extended(8, 8, flags: flags), WebPFile.chunk("ICCP", profile),
      try WebPFile.picture(.gradient(8, 8), .losslessWebP),
    ])
  }

  private static func plain() throws -> [RGBA] { try ImageDecoder().decode(webp([], flags: 0)).colors }

  @Test(arguments: [ColorProfile.gray, .inks]) func profileOfAnotherColorSpaceIsIgnored(_ profile: ColorProfile) throws
  {
    let bytes = profile.bytes
    #expect(try ImageDecoder().decode(Self.png(bytes)).color(0, 0) == RGBA(186, 76, 66))
    #expect(try ImageDecoder().decode(Self.webp(bytes)).colors == Self.plain())
    let jpeg = try ImageEncoder.encode(.gradient(8, 8), as: .jpeg())
    let file = JPEGFile.insert(profile: bytes, into: jpeg)
    #expect(try ImageDecoder().decode(file).colors == ImageDecoder().decode(jpeg).colors)
    let inks = JPEGFile.insert(profile: ColorProfile.displayP3.bytes, into: JPEGFile.adobeCMYK)
    #expect(try ImageDecoder().decode(inks).colors == ImageDecoder().decode(JPEGFile.adobeCMYK).colors)
  }

  @Test(arguments: ["link", "abst", "nmcl", "????"]) func profileOfAnotherClassIsIgnored(_ name: String) throws {
    var profile = ColorProfile.displayP3.bytes
    #expect(try ImageDecoder().decode(Self.webp(profile)).colors != Self.plain())
    profile.replaceSubrange(12..<16, with: name.utf8)
    #expect(try ImageDecoder().decode(Self.webp(profile)).colors == Self.plain())
  }

  @Test func primariesThatGiveNoWhiteAreIgnored() throws {
    var profile = ColorProfile.displayP3.bytes
    let red = try #require(profile.indices.first { profile[$0...].starts(with: "rXYZ".utf8) })
    let place = profile[red + 4..<red + 8].reduce(0) { $0 << 8 | Int($1) }
    profile.replaceSubrange(place + 8..<place + 20, with: [UInt8](repeating: 0, count: 12))
    #expect(try ImageDecoder().decode(Self.webp(profile)).colors == Self.plain())
  }

  @Test func truncatedProfileIsIgnored() throws {
    let profile = ColorProfile.displayP3.bytes
    let plain = try Self.plain()
    let whole = try ImageDecoder().decode(Self.webp(profile)).colors
    for count in stride(from: 1, to: profile.count, by: 13) {
      let colors = try ImageDecoder().decode(Self.webp(Array(profile[..<count]))).colors
      #expect(colors == plain || colors == whole, "\(count)")
      if count < 400 { #expect(colors == plain, "\(count)") }
    }
  }

  /// The parts of a JPEG's profile must have numbers that fit together.
  @Test func partsThatDoNotFitAreIgnored() throws {
    let jpeg = try ImageEncoder.encode(.gradient(8, 8), as: .jpeg())
    let plain = try ImageDecoder().decode(jpeg).colors
    let profile = ColorProfile.displayP3.bytes
    func changed(_ offset: Int, _ value: UInt8) -> [UInt8] {
      JPEGFile.insert(profile: profile, into: jpeg, partSize: 300) { parts in
        var parts = parts
        parts[0][offset] = value
        return parts
      }
    }
    #expect(try ImageDecoder().decode(changed(16, 1)).colors != plain)
    for (offset, value) in [(16, 0), (16, 2), (16, 255), (17, 0), (17, 1), (17, 255)] as [(Int, UInt8)] {
      #expect(try ImageDecoder().decode(changed(offset, value)).colors == plain, "\(offset) \(value)")
    }
    let missing = JPEGFile.insert(profile: profile, into: jpeg, partSize: 300) { Array($0.dropFirst()) }
    #expect(try ImageDecoder().decode(missing).colors == plain)
    let twice = JPEGFile.insert(profile: profile, into: jpeg, partSize: 300) { $0 + $0 }
    #expect(try ImageDecoder().decode(twice).colors == plain)
  }

  @Test func hugeProfileIsIgnored() throws {
    var profile = ColorProfile.displayP3.bytes
    profile += [UInt8](repeating: 0, count: 4 << 20)
    let size = profile.count
    profile.replaceSubrange(0..<4, with: (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) })
    #expect(try ImageDecoder().decode(Self.webp(profile)).colors == Self.plain())
    let jpeg = try ImageEncoder.encode(.gradient(8, 8), as: .jpeg())
    let file = JPEGFile.insert(profile: profile, into: jpeg)
    #expect(try ImageDecoder().decode(file).colors == ImageDecoder().decode(jpeg).colors)
  }

  /// Every changed profile gives a picture of the same size, and the same one twice.
  @Test(arguments: ColorProfile.allCases) func changedProfilesNeverTrap(_ profile: ColorProfile) async throws {
    let bytes = profile.bytes
    let picture = profile == .gray ? JPEGFile.gray : profile == .inks ? JPEGFile.ycck : JPEGFile.restarts
    let size = try ImageDecoder().info(of: picture).size
    for seed in stride(from: 0, to: profile == .inks ? 100 : 400, by: Thoroughness.stride) {
      if seed % 50 == 0 { await Task.yield() }
      var random = SeededRandom(seed: UInt64(seed))
      var changed = bytes
      for _ in 0...random.below(4) {
        // Most changes are in the header, the list of tags, and the heads of tags.
        let offset = random.below(random.below(3) == 0 ? changed.count : min(changed.count, 700))
        changed[offset] = random.below(2) == 0 ? UInt8(random.below(256)) : [0, 1, 0x7F, 0xFF][random.below(4)]
      }
      if random.below(8) == 0 { changed.removeLast(random.below(changed.count)) }
      let file = JPEGFile.insert(profile: changed, into: picture)
      let image = try ImageDecoder().decode(file)
      #expect(image.size == size && image.colors.allSatisfy { $0.alpha == 255 }, "seed \(seed)")
    }
  }
}
