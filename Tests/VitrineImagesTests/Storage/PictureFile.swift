import Foundation
import Vitrine
import VitrineImages

/// A file of ``FileStorage``: the length of the head (8 bytes, little-endian), the head as JSON, the picture's bytes.
struct PictureFile {
  private struct Head: Codable {
    var key: Data
    /// The style's name; nil for an original.
    var style: String?
    /// The digest of this original, or of the original that this style was made from.
    var digest: String
    var metadata: Data
    /// The layout of pixels; nil for an encoded picture.
    var layout: Layout?
    var byteCount: Int
  }

  private struct Layout: Codable {
    var width: Int
    var height: Int
    var bytesPerRow: Int
    var format: UInt8
  }

  private var head: Head
  let body: [UInt8]

  var key: Data { head.key }
  var style: String? { head.style }
  var digest: String { head.digest }
  var metadata: Data {
    get { head.metadata }
    set { head.metadata = newValue }
  }

  init(key: String, digest: Digest, metadata: [UInt8], body: [UInt8]) {
    head = Head(key: Data(key.utf8), digest: "\(digest)", metadata: Data(metadata), byteCount: body.count)
    self.body = body
  }

  init(key: String, _ picture: StyledPicture, _ original: Digest) {
    let (bytes, layout) = picture.content.parts
    self.init(key: key, digest: original, metadata: picture.metadata, body: bytes)
    head.style = picture.style.name
    head.layout = layout.map {
      Layout(width: $0.width, height: $0.height, bytesPerRow: $0.bytesPerRow, format: $0.format.rawValue)
    }
  }

  /// Reads a file. Returns nil if it is missing or damaged.
  init?(contentsOf url: URL) {
    guard let data = try? Data(contentsOf: url), data.count >= 8 else { return nil }
    let length = data.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    guard length <= data.count - 8,
      let head = try? JSONDecoder().decode(Head.self, from: data[8..<8 + Int(length)]),
      data.count - 8 - Int(length) == head.byteCount
    else { return nil }
    self.head = head
    body = [UInt8](data[(8 + Int(length))...])
  }

  var data: Data {
    get throws {
      let head = try JSONEncoder().encode(head)
      return Data((0..<8).map { UInt8(truncatingIfNeeded: head.count >> (8 * $0)) }) + head + body
    }
  }

  /// The styled picture; nil if the layout is invalid or does not match the bytes, or if memory is short.
  var styled: StoredStyled? {
    let layout = head.layout.flatMap { layout in
      PixelFormat(rawValue: layout.format).flatMap {
        BitmapLayout(width: layout.width, height: layout.height, bytesPerRow: layout.bytesPerRow, format: $0)
      }
    }
    if head.layout != nil, layout == nil { return nil }
    return StoredStyled(Array(metadata), body, layout)
  }
}

extension StoredStyled.Content {
  /// The bytes, and the layout if they are pixels.
  var parts: (bytes: [UInt8], layout: BitmapLayout?) {
    switch self {
    case .pixels(let bitmap):
      (bitmap.withPixels { $0.withUnsafeBytes { Array($0.prefix(bitmap.layout.byteCount)) } }, bitmap.layout)
    case .encoded(let bytes): (bytes.withBytes { $0.withUnsafeBytes { Array($0) } }, nil)
    }
  }
}

extension StoredStyled {
  /// The inverse of `parts`. Nil if the bytes do not match the layout, or if memory is short.
  init?(_ metadata: [UInt8], _ bytes: [UInt8], _ layout: BitmapLayout?) {
    guard let layout else {
      self.init(.encoded(.array(bytes)), metadata: metadata)
      return
    }
    guard bytes.count == layout.byteCount,
      let bitmap = try? Bitmap(layout: layout, { span in span.withUnsafeMutableBytes { $0.copyBytes(from: bytes) } })
    else { return nil }
    self.init(.pixels(bitmap), metadata: metadata)
  }
}
