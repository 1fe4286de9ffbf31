import Foundation
import Vitrine
import VitrineImages
import VitrineSimulation

/// A picture that compresses and decodes about as a photograph does: soft light in every color, some bodies with edges,
/// and the grain of a sensor. The same for the same seed.
struct DrawnPicture {
  /// One part of the light: a plane wave with its own direction, and its own strength in each color.
  private struct Wave {
    let across: Float
    let down: Float
    let phase: Float
    let strength: SIMD3<Float>
  }

  private struct Body {
    let middle: SIMD2<Float>
    let radius: SIMD2<Float>
    let color: SIMD3<Float>
  }

  private let size: PixelSize
  private let waves: [Wave]
  private let bodies: [Body]
  private let grain: Float
  private var random: SplitMix64

  init(size: PixelSize, seed: UInt64, grain: Float) {
    var random = SplitMix64(seed: seed)
    func fraction() -> Float { Float(random.next() >> 40) / Float(1 << 24) }
    let unit = Float(max(size.width, size.height))
    waves = (0..<16).map { number in
      // Finer and weaker from wave to wave, as in nature.
      let turns = powf(1.55, Float(number)) * (0.5 + fraction()) * 2 * .pi / unit
      let angle = fraction() * 2 * .pi
      let strength = 60 * powf(0.86, Float(number))
      return Wave(
        across: turns * cosf(angle), down: turns * sinf(angle), phase: fraction() * 2 * .pi,
        strength: SIMD3(fraction(), fraction(), fraction()) * strength)
    }
    bodies = (0..<12).map { _ in
      Body(
        middle: SIMD2(fraction() * Float(size.width), fraction() * Float(size.height)),
        radius: SIMD2(0.02 + 0.12 * fraction(), 0.02 + 0.12 * fraction()) * unit,
        color: SIMD3(fraction(), fraction(), fraction()) * 160 - 80)
    }
    self.size = size
    self.grain = grain
    self.random = random
  }

  mutating func bitmap() throws -> Bitmap {
    guard let layout = BitmapLayout(width: size.width, height: size.height, format: .bgrx8888) else {
      throw BenchError("no picture has \(size) pixels")
    }
    return try Bitmap(layout: layout) { memory in
      memory.withUnsafeMutableBytes { bytes in
        for y in 0..<layout.height {
          drawRow(
            y, into: bytes.baseAddress!.advanced(by: y * layout.bytesPerRow).assumingMemoryBound(to: UInt8.self))
        }
      }
    }
  }

  private mutating func drawRow(_ y: Int, into row: UnsafeMutablePointer<UInt8>) {
    // A wave advances by turning a vector, which costs less than a sine for each pixel.
    var turning = waves.map { wave in
      let angle = wave.phase + wave.down * Float(y)
      return (now: SIMD2(cosf(angle), sinf(angle)), step: SIMD2(cosf(wave.across), sinf(wave.across)))
    }
    for x in 0..<size.width {
      var light = SIMD3<Float>(repeating: 118)
      for index in waves.indices {
        let (now, step) = turning[index]
        light += waves[index].strength * now.y
        turning[index].now = SIMD2(now.x * step.x - now.y * step.y, now.x * step.y + now.y * step.x)
      }
      for body in bodies {
        let away = (SIMD2(Float(x), Float(y)) - body.middle) / body.radius
        if (away * away).sum() < 1 { light += body.color }
      }
      let noise = random.next()
      let gray = Float(noise & 0xFF) + Float(noise >> 8 & 0xFF) - 255
      light +=
        (gray + SIMD3(Float(noise >> 16 & 0x3F), Float(noise >> 22 & 0x3F), Float(noise >> 28 & 0x3F)) - 31)
        * (grain / 255)
      light.clamp(lowerBound: SIMD3(repeating: 0), upperBound: SIMD3(repeating: 255))
      row[4 * x] = UInt8(light.z)
      row[4 * x + 1] = UInt8(light.y)
      row[4 * x + 2] = UInt8(light.x)
      row[4 * x + 3] = 255
    }
  }

  // MARK: Files

  /// Writes photographs of 1 to 4 megapixels, in portrait and landscape format.
  static func writePhotos(count: Int, seed: UInt64, into folder: URL) throws {
    let sizes = [(1200, 900), (1600, 1200), (1080, 1620), (2048, 1365), (2304, 1728)]
    try write(count: count, of: "photos", seed: seed, grain: 12, quality: 0.88, into: folder) { number in
      PixelSize(width: sizes[number % sizes.count].0, height: sizes[number % sizes.count].1)
    }
  }

  /// Writes small square pictures, as people use for their accounts.
  static func writeAvatars(count: Int, seed: UInt64, into folder: URL) throws {
    try write(count: count, of: "avatars", seed: seed, grain: 8, quality: 0.8, into: folder) { _ in
      PixelSize(width: 400, height: 400)
    }
  }

  private static func write(
    count: Int, of kind: String, seed: UInt64, grain: Float, quality: Double, into folder: URL,
    _ size: (Int) -> PixelSize
  ) throws {
    var byteCount = 0
    for number in 0..<count {
      var picture = DrawnPicture(size: size(number), seed: seed &* 100_003 &+ UInt64(number), grain: grain)
      let bytes = try ImageEncoder.encode(picture.bitmap(), as: .jpeg(quality: quality))
      byteCount += bytes.count
      try Data(bytes).write(to: folder.appending(path: "\(kind)-\(1000 + number).jpg"))
    }
    Progress.say("drew \(count) \(kind), \(Figure.megabytes(byteCount))")
  }
}
