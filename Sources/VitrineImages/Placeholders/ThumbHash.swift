import Foundation

/// The algorithm ThumbHash, published by Evan Wallace at https://evanw.github.io/thumbhash: brightness, two color
/// differences and alpha, each as a sum of cosines with factors of 4 bits. At most 25 bytes for a picture.
enum ThumbHash {
  static func bytes(of picture: SmallPicture) -> [UInt8] {
    let size = picture.size
    let hasAlpha = picture.hasAlpha
    let longest = max(size.width, size.height)
    let most = Double(hasAlpha ? 5 : 7)
    func count(_ side: Int) -> Int { max(1, rounded(most * Double(side) / Double(longest))) }
    let (across, down) = (count(size.width), count(size.height))

    let pixels = picture.composed
    let brightness = Channel(pixels.map { ($0[0] + $0[1] + $0[2]) / 3 }, size, max(3, across), max(3, down))
    let yellowBlue = Channel(pixels.map { ($0[0] + $0[1]) / 2 - $0[2] }, size, 3, 3)
    let redGreen = Channel(pixels.map { $0[0] - $0[1] }, size, 3, 3)
    var channels = [brightness, yellowBlue, redGreen]

    let isLandscape = size.width > size.height
    var head = rounded(63 * brightness.mean)
    head |= rounded(31.5 + 31.5 * yellowBlue.mean) << 6
    head |= rounded(31.5 + 31.5 * redGreen.mean) << 12
    head |= rounded(31 * brightness.scale) << 18
    head |= (hasAlpha ? 1 : 0) << 23
    head |= (isLandscape ? down : across) << 24
    head |= rounded(63 * yellowBlue.scale) << 27
    head |= rounded(63 * redGreen.scale) << 33
    head |= (isLandscape ? 1 : 0) << 39
    var bytes = (0..<5).map { UInt8(truncatingIfNeeded: head >> (8 * $0)) }
    if hasAlpha {
      let alpha = Channel(pixels.map { $0[3] }, size, 5, 5)
      bytes.append(UInt8(rounded(15 * alpha.mean) | rounded(15 * alpha.scale) << 4))
      channels.append(alpha)
    }
    for (index, factor) in channels.flatMap(\.factors).enumerated() {
      let step = UInt8(rounded(15 * factor))
      if index % 2 == 0 { bytes.append(step) } else { bytes[bytes.count - 1] |= step << 4 }
    }
    return bytes
  }

  /// Returns the picture that the bytes describe, or nil if they are not a ThumbHash.
  static func picture(_ bytes: [UInt8]) -> SmallPicture? {
    guard let hash = Parsed(bytes) else { return nil }
    let size = hash.size
    let columns = CosineTable(waveCount: 7, count: size.width, shift: 0.5)
    let rows = CosineTable(waveCount: 7, count: size.height, shift: 0.5)
    var pixels: [SIMD4<Double>] = []
    pixels.reserveCapacity(size.width * size.height)
    for y in 0..<size.height {
      // The factors of the waves across, in this row, of all channels at once.
      var line = [SIMD4<Double>](repeating: .zero, count: columns.waveCount)
      line[0][3] = 1
      for (index, (channel, waves)) in hash.channels.enumerated() {
        line[0][index] = channel.mean
        for (factor, wave) in zip(channel.factors, waves) { line[wave.x][index] += 2 * factor * rows[wave.y, y] }
      }
      for x in 0..<size.width {
        var value = SIMD4<Double>.zero
        for wave in 0..<columns.waveCount { value += line[wave] * columns[wave, x] }
        let blue = value[0] - 2 / 3 * value[1]
        let red = (3 * value[0] - blue + value[2]) / 2
        let color = SIMD4(red, red - value[2], blue, value[3])
        pixels.append(color.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 1)))
      }
    }
    return SmallPicture(size: size, pixels: pixels)
  }

  /// Returns whether bytes are a ThumbHash. O(its bytes).
  static func isValid(_ bytes: [UInt8]) -> Bool { Parsed(bytes) != nil }

  private typealias Wave = (x: Int, y: Int)

  /// Returns the waves of a channel, in the order of their factors: those below the diagonal, except the mean.
  private static func waves(_ across: Int, _ down: Int) -> [Wave] {
    (0..<down).flatMap { y in
      (0..<across).filter { x in x + y > 0 && x * down < across * (down - y) }.map { x in (x, y) }
    }
  }

  private static func rounded(_ value: Double) -> Int { Int(value.rounded()) }

  /// One value of each pixel, as a mean and a sum of cosines.
  private struct Channel {
    let mean: Double
    /// The largest absolute factor.
    let scale: Double
    /// The factors of the waves. From 0 to 1 for encoding; multiplied by the scale after decoding.
    let factors: [Double]

    /// Computes the channel of `values`, one for each pixel.
    init(_ values: [Double], _ size: PixelSize, _ across: Int, _ down: Int) {
      let columns = CosineTable(waveCount: across, count: size.width, shift: 0.5)
      let rows = CosineTable(waveCount: down, count: size.height, shift: 0.5)
      // The sums of each row, by wave.
      var lines = [Double](repeating: 0, count: across * size.height)
      for wave in 0..<across {
        for y in 0..<size.height {
          var sum = 0.0
          for x in 0..<size.width { sum += values[y * size.width + x] * columns[wave, x] }
          lines[wave * size.height + y] = sum
        }
      }
      func factor(_ wave: Wave) -> Double {
        (0..<size.height).reduce(0) { $0 + lines[wave.x * size.height + $1] * rows[wave.y, $1] } / Double(values.count)
      }
      let raw = ThumbHash.waves(across, down).map(factor)
      let scale = raw.map(abs).max() ?? 0
      mean = factor((0, 0))
      self.scale = scale
      factors = scale > 0 ? raw.map { 0.5 + 0.5 / scale * $0 } : raw
    }

    init(mean: Double, scale: Double, steps: ArraySlice<Int>) {
      self.mean = mean
      self.scale = scale
      factors = steps.map { (Double($0) / 7.5 - 1) * scale }
    }
  }

  private struct Parsed {
    let size: PixelSize
    /// Brightness, yellow against blue, red against green, and alpha if there is any.
    var channels: [(channel: Channel, waves: [Wave])] = []

    init?(_ bytes: [UInt8]) {
      guard bytes.count >= 5 else { return nil }
      let head = (0..<5).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
      func field(_ start: Int, _ bits: Int) -> Int { head >> start & (1 << bits - 1) }
      let hasAlpha = field(23, 1) == 1
      guard !hasAlpha || bytes.count >= 6, field(24, 3) > 0 else { return nil }
      let longer = hasAlpha ? 5 : 7
      let (across, down) = field(39, 1) == 1 ? (longer, field(24, 3)) : (field(24, 3), longer)
      let (ratio, side) = (Double(across) / Double(down), Double(SmallPicture.longestSide))
      size = PixelSize(
        width: max(1, rounded(ratio > 1 ? side : side * ratio)),
        height: max(1, rounded(ratio > 1 ? side / ratio : side)))

      // The two color differences are a little stronger than encoded, as the algorithm prescribes.
      var parts: [(mean: Double, scale: Double, across: Int, down: Int)] = [
        (Double(field(0, 6)) / 63, Double(field(18, 5)) / 31, max(3, across), max(3, down)),
        (Double(field(6, 6)) / 31.5 - 1, Double(field(27, 6)) / 63 * 1.25, 3, 3),
        (Double(field(12, 6)) / 31.5 - 1, Double(field(33, 6)) / 63 * 1.25, 3, 3),
      ]
      if hasAlpha { parts.append((Double(bytes[5] & 15) / 15, Double(bytes[5] >> 4) / 15, 5, 5)) }
      var steps = bytes.dropFirst(hasAlpha ? 6 : 5).flatMap { [Int($0 & 15), Int($0 >> 4)] }[...]
      for part in parts {
        let waves = ThumbHash.waves(part.across, part.down)
        guard steps.count >= waves.count else { return nil }
        channels.append((Channel(mean: part.mean, scale: part.scale, steps: steps.prefix(waves.count)), waves))
        steps = steps.dropFirst(waves.count)
      }
      // The last byte may have an unused half.
      guard steps.count <= 1 else { return nil }
    }
  }
}
