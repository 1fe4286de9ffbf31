import Vitrine

@testable import VitrineImages

/// A picture as a decoder returns it, in an array.
struct TestPicture {
  var width: Int
  var height: Int
  /// Bytes from one row to the next: more than the pixels need, so that code which ignores the padding fails.
  var bytesPerRow: Int
  var hasAlpha = false
  var bytes: [UInt8]

  init(_ width: Int, _ height: Int, hasAlpha: Bool = false, _ pixel: (Int, Int) -> [UInt8]) {
    self.width = width
    self.height = height
    self.hasAlpha = hasAlpha
    bytesPerRow = width * 4 + 12
    bytes = [UInt8](repeating: 0xEE, count: bytesPerRow * height)
    for y in 0..<height {
      for x in 0..<width {
        bytes.replaceSubrange(y * bytesPerRow + x * 4..<y * bytesPerRow + x * 4 + 4, with: pixel(x, y))
      }
    }
  }

  static func flat(_ width: Int, _ height: Int, _ color: [UInt8]) -> TestPicture {
    TestPicture(width, height, hasAlpha: color[3] < 255) { _, _ in color }
  }

  static func noise(_ width: Int, _ height: Int, hasAlpha: Bool = false, seed: UInt64 = 1) -> TestPicture {
    var random = SeededRandom(seed: seed)
    return TestPicture(width, height, hasAlpha: hasAlpha) { _, _ in
      let word = random.next()
      return (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
  }

  /// Slow waves, so that a shift by a pixel makes little difference.
  static func waves(_ width: Int, _ height: Int) -> TestPicture {
    func wave(_ t: Double) -> UInt8 {
      let part = t - t.rounded(.down)
      return UInt8(255 * (part < 0.5 ? 2 * part : 2 - 2 * part))
    }
    return TestPicture(width, height) { x, y in
      let (u, v) = (Double(x) / Double(width), Double(y) / Double(height))
      return [wave(u * 1.5), wave(v * 1.2), wave((u + 2 * v) * 0.7), 255]
    }
  }

  var size: PixelSize { PixelSize(width: width, height: height) }

  func pixel(_ x: Int, _ y: Int) -> [UInt8] {
    let start = y * bytesPerRow + x * 4
    return Array(bytes[start..<start + 4])
  }

  /// Returns this upright picture as stored in an orientation. Each case names, from EXIF's own table, the sides of the
  /// upright picture at which the stored picture's first row and first column lie.
  func stored(as orientation: Orientation) -> TestPicture {
    let (w, h) = (width, height)
    let isTurned = orientation.rawValue > 4
    return TestPicture(isTurned ? h : w, isTurned ? w : h, hasAlpha: hasAlpha) { column, row in
      switch orientation {
      case .upright: pixel(column, row)  // top, left
      case .mirrored: pixel(w - 1 - column, row)  // top, right
      case .upsideDown: pixel(w - 1 - column, h - 1 - row)  // bottom, right
      case .mirroredUpsideDown: pixel(column, h - 1 - row)  // bottom, left
      case .transposed: pixel(row, column)  // left, top
      case .turnedLeft: pixel(w - 1 - row, column)  // right, top
      case .transverse: pixel(w - 1 - row, h - 1 - column)  // right, bottom
      case .turnedRight: pixel(row, h - 1 - column)  // left, bottom
      }
    }
  }

  func withRows<R>(_ body: (PixelRows) throws -> R) rethrows -> R {
    let span = bytes.span.bytes
    return try body(
      PixelRows(span, width: width, height: height, bytesPerRow: bytesPerRow, hasAlpha: hasAlpha))
  }

  func drawn(
    _ style: ImageStyle, _ orientation: Orientation = .upright, _ kernel: ResamplingKernel = .catmullRom
  ) throws -> Bitmap {
    var renderer = try StyleRenderer(style, picture: size, orientation: orientation)
    renderer.kernel = kernel
    return try Bitmap(layout: renderer.layout) { memory in
      // Pixels that are not drawn keep this value.
      _ = memory.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 0x5A) }
      try withRows { try renderer.draw($0, into: &memory) }
    }
  }
}

extension Bitmap {
  /// The bytes of a pixel in memory.
  func pixel(_ x: Int, _ y: Int) -> [UInt8] {
    withPixels { bytes in
      let start = y * layout.bytesPerRow + x * layout.format.bytesPerPixel
      return (0..<layout.format.bytesPerPixel).map { bytes.unsafeLoad(fromByteOffset: start + $0, as: UInt8.self) }
    }
  }

  /// All pixels of one channel, row by row.
  func channel(_ channel: Int) -> [UInt8] {
    withPixels { bytes in
      var values: [UInt8] = []
      values.reserveCapacity(width * height)
      for y in 0..<height {
        for x in 0..<width {
          let offset = y * layout.bytesPerRow + x * layout.format.bytesPerPixel + channel
          values.append(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
      }
      return values
    }
  }

  /// The largest difference of a byte between two bitmaps. `Int.max` if their sizes or formats differ.
  func difference(to other: Bitmap) -> Int {
    guard size == other.size, layout.format == other.layout.format else { return .max }
    var most = 0
    for index in 0..<layout.format.bytesPerPixel {
      for (a, b) in zip(channel(index), other.channel(index)) { most = max(most, abs(Int(a) - Int(b))) }
    }
    return most
  }
}
