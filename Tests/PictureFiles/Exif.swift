/// An EXIF block with a width and an orientation.
package enum Exif {
  package static func block(_ orientation: Int, isLittleEndian: Bool = true) -> [UInt8] {
    var bytes = Array((isLittleEndian ? "II" : "MM").utf8)
    func append(_ value: Int, _ byteCount: Int) {
      isLittleEndian
        ? bytes.appendLittle(value, byteCount: byteCount) : bytes.appendBig(value, byteCount: byteCount)
    }
    append(42, 2)
    append(8, 4)
    append(2, 2)
    for (tag, value) in [(0x0100, 640), (0x0112, orientation)] {
      append(tag, 2)
      append(3, 2)
      append(1, 4)
      append(value, 2)
      append(0, 2)
    }
    append(0, 4)
    return bytes
  }

  /// Inserts the block after the first marker.
  package static func insert(_ block: [UInt8], intoJPEG file: [UInt8]) -> [UInt8] {
    var segment: [UInt8] = [0xFF, 0xE1]
    segment.appendBig(block.count + 8, byteCount: 2)
    return file[..<2] + segment + Array("Exif\0\0".utf8) + block + file[2...]
  }
}
