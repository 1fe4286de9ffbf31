/// BMP and ICO files.
package struct BMPFile {
  package var width: Int
  package var height: Int
  package var depth: Int
  package var isTopFirst = false
  package var compression = 0
  /// Blue, green, red and 0 of each index.
  package var colors: [UInt8] = []
  /// Of red, green, blue and perhaps alpha, with compression 3 or 6.
  package var masks: [Int] = []
  /// The pixels, from the first stored row on.
  package var data: [UInt8]

  package init(width: Int, height: Int, depth: Int, data: [UInt8]) {
    (self.width, self.height, self.depth, self.data) = (width, height, depth, data)
  }

  /// Creates a file of rows from the top: each pixel is a number of `depth` bits.
  package init(width: Int, height: Int, depth: Int, isTopFirst: Bool = false, _ pixel: (_ x: Int, _ y: Int) -> Int) {
    var data: [UInt8] = []
    for row in 0..<height {
      let y = isTopFirst ? row : height - 1 - row
      var bits: [Bool] = []
      var bytes: [UInt8] = []
      for x in 0..<width {
        if depth < 8 {
          for bit in (0..<depth).reversed() { bits.append(pixel(x, y) >> bit & 1 == 1) }
        } else {
          bytes.appendLittle(pixel(x, y), byteCount: depth / 8)
        }
      }
      for start in stride(from: 0, to: bits.count, by: 8) {
        bytes.append((0..<8).reduce(0) { $0 << 1 | (start + $1 < bits.count && bits[start + $1] ? 1 : 0) })
      }
      data += bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }
    self.init(width: width, height: height, depth: depth, data: data)
    self.isTopFirst = isTopFirst
  }

  package var bytes: [UInt8] {
    let rest = header(height: height)
    var file = Array("BM".utf8)
    file.appendLittle(14 + rest.count + data.count, byteCount: 4)
    file.appendLittle(0, byteCount: 4)
    file.appendLittle(14 + rest.count, byteCount: 4)
    return file + rest + data
  }

  private func header(height: Int) -> [UInt8] {
    var header: [UInt8] = []
    header.appendLittle(40, byteCount: 4)
    header.appendLittle(width, byteCount: 4)
    header.appendLittle(isTopFirst ? -height : height, byteCount: 4)
    header.appendLittle(1, byteCount: 2)
    header.appendLittle(depth, byteCount: 2)
    for value in [compression, 0, 0, 0, colors.count / 4, 0] { header.appendLittle(value, byteCount: 4) }
    for mask in masks { header.appendLittle(mask, byteCount: 4) }
    return header + colors
  }

  /// The picture of an icon, with a bit for each pixel that is transparent.
  package func icon(mask: (_ x: Int, _ y: Int) -> Bool) -> [UInt8] {
    let bits = BMPFile(width: width, height: height, depth: 1) { x, y in mask(x, y) ? 1 : 0 }
    return header(height: height * 2) + data + bits.data
  }

  /// An ICO of pictures with the width and height that their entries claim.
  package static func ico(_ pictures: [(side: Int, depth: Int, content: [UInt8])]) -> [UInt8] {
    var file: [UInt8] = [0, 0, 1, 0]
    file.appendLittle(pictures.count, byteCount: 2)
    var offset = 6 + 16 * pictures.count
    for picture in pictures {
      file += [UInt8(picture.side % 256), UInt8(picture.side % 256), 0, 0, 1, 0]
      file.appendLittle(picture.depth, byteCount: 2)
      file.appendLittle(picture.content.count, byteCount: 4)
      file.appendLittle(offset, byteCount: 4)
      offset += picture.content.count
    }
    return file + pictures.flatMap(\.content)
  }
}
