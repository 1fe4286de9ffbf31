import Vitrine
import VitrineImages

/// Animations as GIF, animated PNG and animated WebP.
package struct AnimatedFile {
  package enum Disposal: Int, CaseIterable {
    case keep, clear, restore
  }

  package struct Frame {
    package var left = 0
    package var top = 0
    package var width: Int
    package var height: Int
    /// The colors of all pixels, row by row. GIF has no partial transparency, and at most 127 colors.
    package var colors: [RGBA]
    package var milliseconds = 120
    package var disposal = Disposal.keep
    package var isBlended = true

    package init(_ width: Int, _ height: Int, _ color: (_ x: Int, _ y: Int) -> RGBA) {
      (self.width, self.height) = (width, height)
      colors = (0..<height).flatMap { y in (0..<width).map { color($0, y) } }
    }
  }

  package var width: Int
  package var height: Int
  /// The number of plays; 0 for no end.
  package var playCount = 0
  package var frames: [Frame]

  package init(_ width: Int, _ height: Int, _ frames: [Frame]) {
    (self.width, self.height, self.frames) = (width, height, frames)
  }

  // MARK: GIF

  package var gif: [UInt8] {
    var file = GIFFile(width: width, height: height, colors: nil, frames: frames.map(AnimatedFile.gif))
    file.playCount = playCount
    return file.bytes
  }

  private static func gif(_ frame: Frame) -> GIFFile.Frame {
    var palette: [RGBA] = []
    let indexes = frame.colors.map { color -> Int in
      let color = color.alpha == 0 ? RGBA(0, 0, 0, 0) : color
      if let index = palette.firstIndex(of: color) { return index }
      palette.append(color)
      return palette.count - 1
    }
    var made = GIFFile.Frame(width: frame.width, height: frame.height) { x, y in indexes[y * frame.width + x] }
    (made.left, made.top) = (frame.left, frame.top)
    made.colors = palette.flatMap { [$0.red, $0.green, $0.blue] }
    made.transparent = palette.firstIndex { $0.alpha == 0 }
    made.hundredths = frame.milliseconds / 10
    made.disposal = frame.disposal.rawValue + 1
    return made
  }

  // MARK: PNG

  package var png: [UInt8] { png(hasOwnDefault: false) }

  /// If `hasOwnDefault`, a white picture for programs without animation precedes the frames.
  package func png(hasOwnDefault: Bool) -> [UInt8] {
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    PNGFile.append("IHDR", AnimatedFile.big([width, height]) + [8, 6, 0, 0, 0], to: &file)
    PNGFile.append("acTL", AnimatedFile.big([frames.count, playCount]), to: &file)
    if hasOwnDefault {
      PNGFile.append("IDAT", AnimatedFile.pixels(Frame(width, height) { _, _ in RGBA(255, 255, 255) }), to: &file)
    }
    var sequence = 0
    for (index, frame) in frames.enumerated() {
      var control = AnimatedFile.big([sequence, frame.width, frame.height, frame.left, frame.top])
      control.appendBig(frame.milliseconds, byteCount: 2)
      control.appendBig(1000, byteCount: 2)
      control += [UInt8(frame.disposal.rawValue), frame.isBlended ? 1 : 0]
      PNGFile.append("fcTL", control, to: &file)
      sequence += 1
      let pixels = AnimatedFile.pixels(frame)
      if index == 0, !hasOwnDefault {
        PNGFile.append("IDAT", pixels, to: &file)
        continue
      }
      // Frames come in several chunks.
      for start in stride(from: 0, to: pixels.count, by: 50) {
        let part = pixels[start..<min(start + 50, pixels.count)]
        PNGFile.append("fdAT", AnimatedFile.big([sequence]) + part, to: &file)
        sequence += 1
      }
    }
    PNGFile.append("IEND", [], to: &file)
    return file
  }

  private static func big(_ numbers: [Int]) -> [UInt8] {
    var bytes: [UInt8] = []
    for number in numbers { bytes.appendBig(number, byteCount: 4) }
    return bytes
  }

  private static func pixels(_ frame: Frame) -> [UInt8] {
    var bytes: [UInt8] = []
    for (index, color) in frame.colors.enumerated() {
      if index % frame.width == 0 { bytes.append(0) }
      bytes += [color.red, color.green, color.blue, color.alpha]
    }
    return PNGFile.stored(bytes)
  }

  // MARK: WebP

  /// Frames begin at even coordinates, and none of them restores. Colors survive if they are opaque or transparent.
  package var webp: [UInt8] {
    get throws {
      var animation: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
      animation.appendLittle(playCount, byteCount: 2)
      return WebPFile.file(
        [WebPFile.extended(width, height, flags: 0x12), WebPFile.chunk("ANIM", animation)]
          + (try frames.map(AnimatedFile.webp)))
    }
  }

  private static func webp(_ frame: Frame) throws -> [UInt8] {
    let bitmap = Bitmap.drawn(frame.width, frame.height) { x, y in
      let color = frame.colors[y * frame.width + x]
      return color.alpha == 0 ? RGBA(0, 0, 0, 0) : color
    }
    return WebPFile.frame(
      try WebPFile.picture(bitmap, .losslessWebP), x: frame.left, y: frame.top, width: frame.width,
      height: frame.height, milliseconds: frame.milliseconds,
      flags: (frame.disposal == .clear ? 1 : 0) | (frame.isBlended ? 0 : 2))
  }
}
