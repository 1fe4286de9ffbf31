/// PNG files that the encoder here does not write: any depth and color type, interlaced, with any chunk. Their pixels
/// are stored, not compressed.
package struct PNGFile {
  package enum Color: Int {
    case gray = 0
    case rgb = 2
    case palette = 3
    case grayAlpha = 4
    case rgba = 6
  }

  package var width: Int
  package var height: Int
  package var depth: Int
  package var color: Color
  package var isInterlaced: Bool
  /// Chunks between IHDR and IDAT, such as PLTE, tRNS, acTL.
  package var chunks: [(name: String, content: [UInt8])]
  /// Chunks between IDAT and IEND.
  package var lastChunks: [(name: String, content: [UInt8])]
  /// The samples of a pixel, each of `depth` bits.
  package var samples: (_ x: Int, _ y: Int) -> [Int]

  package init(
    width: Int, height: Int, depth: Int = 8, color: Color = .rgba, isInterlaced: Bool = false,
    chunks: [(name: String, content: [UInt8])] = [], lastChunks: [(name: String, content: [UInt8])] = [],
    samples: @escaping (_ x: Int, _ y: Int) -> [Int]
  ) {
    self.width = width
    self.height = height
    self.depth = depth
    self.color = color
    self.isInterlaced = isInterlaced
    self.chunks = chunks
    self.lastChunks = lastChunks
    self.samples = samples
  }

  package var bytes: [UInt8] {
    var header: [UInt8] = []
    header.appendBig(width, byteCount: 4)
    header.appendBig(height, byteCount: 4)
    header += [UInt8(depth), UInt8(color.rawValue), 0, 0, isInterlaced ? 1 : 0]
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    PNGFile.append("IHDR", header, to: &file)
    for chunk in chunks { PNGFile.append(chunk.name, chunk.content, to: &file) }
    PNGFile.append("IDAT", PNGFile.stored(rows), to: &file)
    for chunk in lastChunks { PNGFile.append(chunk.name, chunk.content, to: &file) }
    PNGFile.append("IEND", [], to: &file)
    return file
  }

  private var rows: [UInt8] {
    // Adam7: the origin of each pass, and the distances between its pixels.
    let passes =
      isInterlaced
      ? [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
      : [(0, 0, 1, 1)]
    var bytes: [UInt8] = []
    for (left, top, across, down) in passes where left < width {
      for y in stride(from: top, to: height, by: down) {
        bytes.append(0)  // no filter
        var (bits, count) = (0, 0)
        for sample in stride(from: left, to: width, by: across).flatMap({ samples($0, y) }) {
          bits = bits << depth | sample
          count += depth
          while count >= 8 {
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
          }
          bits &= 1 << count - 1
        }
        if count > 0 { bytes.append(UInt8(truncatingIfNeeded: bits << (8 - count))) }
      }
    }
    return bytes
  }

  // MARK: Parts of a file

  package static func append(_ name: String, _ content: [UInt8], to file: inout [UInt8]) {
    file.appendBig(content.count, byteCount: 4)
    let checked = Array(name.utf8) + content
    file += checked
    file.appendBig(crc(checked[...]), byteCount: 4)
  }

  /// Returns a zlib stream of one stored block.
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    precondition(bytes.count < 65_536)
    var stream: [UInt8] = [0x78, 0x01, 0x01]
    stream.appendLittle(bytes.count, byteCount: 2)
    stream.appendLittle(~bytes.count, byteCount: 2)
    stream += bytes
    var (a, b) = (1, 0)
    for byte in bytes {
      a = (a + Int(byte)) % 65521
      b = (b + a) % 65521
    }
    stream.appendBig(b << 16 | a, byteCount: 4)
    return stream
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ crc >> 1 : crc >> 1 }
  }

  private static func crc(_ bytes: ArraySlice<UInt8>) -> Int {
    Int(~bytes.reduce(~UInt32(0)) { crc, byte in table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8 })
  }

  /// Corrects the checksums of a changed file, so that libpng reads the changes.
  package static func sealed(_ file: [UInt8]) -> [UInt8] {
    var file = file
    var offset = 8
    while offset + 12 <= file.count {
      let length = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      guard length <= file.count - offset - 12 else { break }
      let end = offset + 8 + length
      var sum: [UInt8] = []
      sum.appendBig(crc(file[offset + 4..<end]), byteCount: 4)
      file.replaceSubrange(end..<end + 4, with: sum)
      offset = end + 4
    }
    return file
  }
}
