/// Finds out which addresses of this process show the bytes of files, from the system's own list.
enum MappedFiles {
  /// Returns whether the bytes at an address are those of a file in a folder: then they were not copied. Nil if the
  /// system does not tell (only Linux does).
  ///
  /// `folder` is a path without symbolic links. Reads `/proc/self/maps`, some 50 microseconds.
  static func hasFile(in folder: String, at address: UInt) -> Bool? {
    guard let bytes = try? Files.readStream("/proc/self/maps") else { return nil }
    let inFolder = Array((folder + "/").utf8)
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      // 7f00a000-7f00b000 r--p 00000000 08:01 1234    /the/file
      guard let slash = line.firstIndex(of: UInt8(ascii: "/")), line[slash...].starts(with: inFolder),
        let dash = line.firstIndex(of: UInt8(ascii: "-")),
        let space = line.firstIndex(of: UInt8(ascii: " ")), dash < space,
        let lower = UInt(String(decoding: line[..<dash], as: UTF8.self), radix: 16),
        let upper = UInt(String(decoding: line[line.index(after: dash)..<space], as: UTF8.self), radix: 16)
      else { continue }
      if lower <= address && address < upper { return true }
    }
    return false
  }
}
