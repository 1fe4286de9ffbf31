import Vitrine
import VitrineImages

/// WebP files of several parts, made of pictures that the encoder writes.
package enum WebPFile {
  package static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    var bytes = Array(name.utf8)
    bytes.appendLittle(content.count, byteCount: 4)
    bytes += content
    if content.count % 2 == 1 { bytes.append(0) }
    return bytes
  }

  package static func file(_ chunks: [[UInt8]]) -> [UInt8] {
    chunk("RIFF", Array("WEBP".utf8) + chunks.flatMap { $0 })
  }

  package static func extended(_ width: Int, _ height: Int, flags: UInt8) -> [UInt8] {
    var content: [UInt8] = [flags, 0, 0, 0]
    content.appendLittle(width - 1, byteCount: 3)
    content.appendLittle(height - 1, byteCount: 3)
    return chunk("VP8X", content)
  }

  /// Returns the chunks of a picture: `VP8L`, or `VP8 ` with `ALPH` before it if the picture has alpha.
  package static func picture(_ bitmap: Bitmap, _ encoding: ImageEncoder.Encoding) throws -> [UInt8] {
    let file = try ImageEncoder.encode(bitmap, as: encoding)
    let hasHeader = file[12..<16].elementsEqual("VP8X".utf8)
    return Array(file[(hasHeader ? 30 : 12)...])
  }

  package static func frame(
    _ picture: [UInt8], x: Int, y: Int, width: Int, height: Int, milliseconds: Int = 100, flags: UInt8 = 0
  ) -> [UInt8] {
    var content: [UInt8] = []
    for value in [x / 2, y / 2, width - 1, height - 1, milliseconds] { content.appendLittle(value, byteCount: 3) }
    return chunk("ANMF", content + [flags] + picture)
  }

  /// Returns an animation of 16 x 12 pixels. The first frame covers 8 x 6 pixels at (4, 2), the second one everything.
  package static func animation() throws -> [UInt8] {
    let small = try picture(.gradient(8, 6), .losslessWebP)
    let large = try picture(.gradient(16, 12), .webp())
    return file([
      extended(16, 12, flags: 0x02), chunk("ANIM", [0xFF, 0xFF, 0xFF, 0xFF, 0, 0]),
      frame(small, x: 4, y: 2, width: 8, height: 6), frame(large, x: 0, y: 0, width: 16, height: 12),
    ])
  }
}
