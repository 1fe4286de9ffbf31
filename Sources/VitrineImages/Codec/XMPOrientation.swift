/// Reads `tiff:Orientation` in an XMP packet, which is XML in UTF-8.
enum XMPOrientation {
  /// Returns nil if there is no valid orientation. It is an attribute (`tiff:Orientation="6"`) or an element
  /// (`<tiff:Orientation>6</tiff:Orientation>`). O(bytes).
  static func read(_ bytes: PictureBytes) -> Orientation? {
    let (prefix, name) = ("tiff:", "Orientation")
    var next = 0
    // Searches for the capital letter first, because capitals are rare in XMP.
    while let start = bytes.offset(of: UInt8(ascii: "O"), from: next) {
      next = start + 1
      guard bytes.hasText(name, at: start), bytes.hasText(prefix, at: start - prefix.utf8.count) else { continue }
      var offset = start + name.utf8.count
      // Skips the characters between the name and the number.
      while let byte = bytes[offset], " \t\r\n=\"'>".utf8.contains(byte) { offset += 1 }
      guard let digit = bytes[offset], (UInt8(ascii: "1")...UInt8(ascii: "8")).contains(digit) else { continue }
      if let second = bytes[offset + 1], (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(second) { continue }
      return Orientation(rawValue: Int(digit - UInt8(ascii: "0")))
    }
    return nil
  }
}
