#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Draws landscapes: a sky, a sun, three ridges, and grain like that of a camera's sensor. One in six is a poster
/// without grain, which compresses well; the others, like photographs, hardly compress.
enum Landscape {
  /// A whole QOI file, the same for the same number in every run.
  static func file(_ number: Int) -> [UInt8] {
    let (pixels, width, height) = pixels(number)
    return QOIPicture.encode(pixels: pixels, width: width, height: height)
  }

  /// Rows from the top, three bytes (red, green, blue) for each pixel.
  static func pixels(_ number: Int) -> (pixels: [UInt8], width: Int, height: Int) {
    var noise = Noise(seed: UInt64(number) &+ 0x5EED)
    let (width, height) = [(640, 480), (800, 600), (480, 640), (1024, 683)][number % 4]
    let isPoster = number % 6 == 5
    let hue = noise.fraction()
    let sun = (x: noise.fraction() * Double(width), y: noise.fraction() * Double(height) * 0.45)
    let sunRadius = Double(height) * (0.04 + 0.06 * noise.fraction())
    let ridges = (0..<3).map { _ in
      (phase: noise.fraction() * 6.28, pitch: 2 + noise.fraction() * 5, detail: 11 + noise.fraction() * 17)
    }

    // The height of each ridge at each column, counted from the top.
    let tops = ridges.enumerated().map { depth, ridge in
      (0..<width).map { x in
        let t = Double(x) / Double(width)
        let wave = sin(t * ridge.pitch + ridge.phase) * 0.6 + sin(t * ridge.detail + ridge.phase * 3) * 0.15
        return Int(Double(height) * (0.5 + 0.16 * Double(depth) + 0.12 * wave))
      }
    }

    var pixels = [UInt8](repeating: 0, count: width * height * 3)
    var place = 0
    for y in 0..<height {
      let down = Double(y) / Double(height)
      let sky = color(hue: hue + down * 0.15, brightness: isPoster ? 0.9 : 0.95 - 0.35 * down)
      for x in 0..<width {
        var (r, g, b) = sky
        let dx = Double(x) - sun.x
        let dy = Double(y) - sun.y
        if dx * dx + dy * dy < sunRadius * sunRadius { (r, g, b) = (250, 238, 200) }
        for depth in 0..<3 where y >= tops[depth][x] {
          let shade = 0.62 - 0.17 * Double(depth)
          (r, g, b) = (
            Int(Double(sky.0) * shade * 0.7), Int(Double(sky.1) * shade), Int(Double(sky.2) * shade * 0.8)
          )
        }
        if !isPoster {
          let grain = noise.next()
          let light = Int(grain & 31) - 16
          r += light + Int(grain >> 8 & 7) - 4
          g += light
          b += light + Int(grain >> 16 & 7) - 4
        }
        pixels[place] = UInt8(clamping: r)
        pixels[place + 1] = UInt8(clamping: g)
        pixels[place + 2] = UInt8(clamping: b)
        place += 3
      }
    }
    return (pixels, width, height)
  }

  private static func color(hue: Double, brightness: Double) -> (Int, Int, Int) {
    func part(_ shift: Double) -> Int { Int((0.62 + 0.3 * cos((hue + shift) * 6.283)) * brightness * 255) }
    return (part(0), part(0.33), part(0.67))
  }
}
