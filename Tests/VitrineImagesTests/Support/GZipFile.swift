import PictureFiles

/// A gzip file (RFC 1952) as a server sends it. Its bytes are stored, not compressed.
enum GZipFile {
  static func packed(_ bytes: [UInt8]) -> [UInt8] {
    var file: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
    let starts = Array(stride(from: 0, to: max(bytes.count, 1), by: 65_535))
    for start in starts {
      let block = bytes[start..<min(start + 65_535, bytes.count)]
      file.append(start == starts.last ? 1 : 0)
      file.appendLittle(block.count, byteCount: 2)
      file.appendLittle(~block.count, byteCount: 2)
      file += block
    }
    let sum = ~bytes.reduce(~UInt32(0)) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { crc, _ in crc & 1 == 1 ? 0xEDB8_8320 ^ crc >> 1 : crc >> 1 }
    }
    file.appendLittle(Int(sum), byteCount: 4)
    file.appendLittle(bytes.count, byteCount: 4)
    return file
  }
}
