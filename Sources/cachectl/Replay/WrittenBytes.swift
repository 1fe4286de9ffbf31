import CacheCtlKit
import Glibc

/// The bytes that this process has written to files on disks, as the system counts them.
///
/// `/proc/self/io` counts a page when it becomes dirty, through a call or through a mapping, and not again before it is
/// clean. So the count does not wait for the disk, has whole pages, and has the pages of files that are removed before
/// they reach the disk; `cancelled_write_bytes` has those.
struct WrittenBytes: Equatable {
  let written: Int
  let cancelled: Int

  /// Returns the present counts; nil if the system does not count.
  static func now() -> WrittenBytes? {
    guard let file = try? Descriptor.open(Array("/proc/self/io".utf8), O_RDONLY),
      let text = try? file.readAll(limit: 1 << 16)
    else { return nil }
    return WrittenBytes(String(decoding: text, as: UTF8.self))
  }

  init(written: Int, cancelled: Int) {
    self.written = written
    self.cancelled = cancelled
  }

  /// Parses the content of `/proc/self/io`.
  init?(_ text: String) {
    var values: [Substring: Int] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 2 { values[parts[0]] = Int(parts[1]) }
    }
    guard let written = values["write_bytes:"] else { return nil }
    self.init(written: written, cancelled: values["cancelled_write_bytes:"] ?? 0)
  }

  /// The bytes since `earlier`. Nil if there are none, because a file system in memory is not counted.
  func since(_ earlier: WrittenBytes) -> WrittenBytes? {
    let written = written - earlier.written
    return written > 0 ? WrittenBytes(written: written, cancelled: cancelled - earlier.cancelled) : nil
  }
}
