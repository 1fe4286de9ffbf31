// Files with an ICC profile.

extension Exif {
  /// Inserts an XMP packet after the first marker.
  package static func insert(xmp packet: String, intoJPEG file: [UInt8]) -> [UInt8] {
    let content = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(packet.utf8)
    var segment: [UInt8] = [0xFF, 0xE1]
    segment.appendBig(content.count + 2, byteCount: 2)
    return file[..<2] + segment + content + file[2...]
  }

  /// An XMP packet with an orientation.
  package static func packet(_ orientation: Int, isElement: Bool = false) -> String {
    let (attribute, element) =
      isElement
      ? ("", "<tiff:Orientation> \(orientation) </tiff:Orientation>") : (" tiff:Orientation=\"\(orientation)\"", "")
    return "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:Description\(attribute)>\(element)</rdf:Description></x:xmpmeta>"
  }
}

extension JPEGFile {
  /// Inserts a profile after the first marker, in parts of `partSize` bytes. `order` changes the order of the parts.
  package static func insert(
    profile: [UInt8], into file: [UInt8], partSize: Int = 65_519, order: ([[UInt8]]) -> [[UInt8]] = { $0 }
  ) -> [UInt8] {
    let starts = Array(stride(from: 0, to: profile.count, by: partSize))
    let parts = starts.enumerated().map { index, start in
      let content = profile[start..<min(profile.count, start + partSize)]
      var segment: [UInt8] = [0xFF, 0xE2]
      segment.appendBig(content.count + 16, byteCount: 2)
      return segment + Array("ICC_PROFILE\0".utf8) + [UInt8(index + 1), UInt8(starts.count)] + content
    }
    return file[..<2] + order(parts).flatMap { $0 } + file[2...]
  }
}

extension PNGFile {
  /// The chunk of a profile.
  package static func profile(_ profile: [UInt8]) -> (name: String, content: [UInt8]) {
    ("iCCP", Array("p\0\0".utf8) + stored(profile))
  }

  /// The chunk of numbers of four bytes, such as gAMA and cHRM.
  package static func numbers(_ name: String, _ numbers: [Int]) -> (name: String, content: [UInt8]) {
    var content: [UInt8] = []
    for number in numbers { content.appendBig(number, byteCount: 4) }
    return (name, content)
  }
}
