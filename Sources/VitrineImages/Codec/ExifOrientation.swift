/// Reads the tag 0x0112 in the first directory of a TIFF file, which is the format of EXIF.
enum ExifOrientation {
  /// Returns nil if there is no valid orientation.
  static func read(_ bytes: PictureBytes) -> Orientation? {
    let isLittleEndian: Bool
    if bytes.begins([0x49, 0x49, 0x2A, 0x00]) {
      isLittleEndian = true
    } else if bytes.begins([0x4D, 0x4D, 0x00, 0x2A]) {
      isLittleEndian = false
    } else {
      return nil
    }
    func integer(_ offset: Int, _ byteCount: Int) -> Int? {
      bytes.integer(at: offset, byteCount: byteCount, isLittleEndian: isLittleEndian)
    }
    guard let directory = integer(4, 4), let count = integer(directory, 2) else { return nil }
    for entry in 0..<count {
      let offset = directory + 2 + entry * 12
      guard let tag = integer(offset, 2) else { return nil }
      // The value is a SHORT, in the first half of the value field.
      guard tag == 0x0112 else { continue }
      guard integer(offset + 2, 2) == 3, integer(offset + 4, 4) == 1, let value = integer(offset + 8, 2) else {
        return nil
      }
      return Orientation(rawValue: value)
    }
    return nil
  }
}
