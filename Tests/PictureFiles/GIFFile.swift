/// GIF files of up to 128 colors. Their pixels are not compressed.
package struct GIFFile {
  package struct Frame {
    package var left = 0
    package var top = 0
    package var width: Int
    package var height: Int
    package var isInterlaced = false
    /// The index of transparent pixels.
    package var transparent: Int?
    /// The time until the next frame.
    package var hundredths = 0
    /// The treatment of the frame before the next: 1 keeps it, 2 clears it, 3 restores the pixels below.
    package var disposal = 0
    /// Red, green and blue of each index, or nil for those of the file.
    package var colors: [UInt8]?
    /// The index of a pixel.
    package var index: (_ x: Int, _ y: Int) -> Int

    package init(width: Int, height: Int, index: @escaping (_ x: Int, _ y: Int) -> Int) {
      (self.width, self.height, self.index) = (width, height, index)
    }
  }

  package var width: Int
  package var height: Int
  /// Red, green and blue of each index, or nil.
  package var colors: [UInt8]?
  package var frames: [Frame]
  /// The number of plays, 0 for no end, or nil for a file that does not say it.
  package var playCount: Int?

  package init(width: Int, height: Int, colors: [UInt8]?, frames: [Frame]) {
    (self.width, self.height, self.colors, self.frames) = (width, height, colors, frames)
  }

  package var bytes: [UInt8] {
    var file = Array("GIF89a".utf8)
    file.appendLittle(width, byteCount: 2)
    file.appendLittle(height, byteCount: 2)
    file += [colors == nil ? 0 : 0x80 | GIFFile.bits(colors), 0, 0] + GIFFile.padded(colors)
    if let playCount {
      file += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1]
      file.appendLittle(max(0, playCount - 1), byteCount: 2)
      file.append(0)
    }
    for frame in frames {
      if frame.transparent != nil || frame.hundredths > 0 || frame.disposal > 0 {
        file += [0x21, 0xF9, 4, UInt8(frame.disposal << 2 | (frame.transparent == nil ? 0 : 1))]
        file.appendLittle(frame.hundredths, byteCount: 2)
        file += [UInt8(frame.transparent ?? 0), 0]
      }
      file.append(0x2C)
      for value in [frame.left, frame.top, frame.width, frame.height] { file.appendLittle(value, byteCount: 2) }
      file.append((frame.colors == nil ? 0 : 0x80 | GIFFile.bits(frame.colors)) | (frame.isInterlaced ? 0x40 : 0))
      file += GIFFile.padded(frame.colors) + GIFFile.data(frame)
    }
    return file + [0x3B]
  }

  /// One less than the binary logarithm of the number of colors, rounded up.
  private static func bits(_ colors: [UInt8]?) -> UInt8 {
    UInt8((0..<8).first { 3 * (2 << $0) >= (colors ?? []).count } ?? 7)
  }

  private static func padded(_ colors: [UInt8]?) -> [UInt8] {
    guard let colors else { return [] }
    return colors + [UInt8](repeating: 0, count: 3 * (2 << Int(bits(colors))) - colors.count)
  }

  /// Codes of 8 bits. A code that clears the table comes before it grows to 9 bits.
  private static func data(_ frame: Frame) -> [UInt8] {
    let rows =
      frame.isInterlaced
      ? [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0, to: frame.height, by: $1)) }
      : Array(0..<frame.height)
    var codes: [UInt8] = []
    for (number, index) in rows.flatMap({ y in (0..<frame.width).map { frame.index($0, y) } }).enumerated() {
      if number % 100 == 0 { codes.append(128) }
      codes.append(UInt8(index))
    }
    codes.append(129)
    var data: [UInt8] = [7]
    for start in stride(from: 0, to: codes.count, by: 255) {
      let block = codes[start..<min(codes.count, start + 255)]
      data += [UInt8(block.count)] + block
    }
    return data + [0]
  }
}
