import CBench
import Glibc

/// Counts the bytes that reach the device, in one way for all engines.
struct WriteCounter: Sendable {
  private enum Source {
    case device(String)
    case process
  }

  /// The source, for the head of the table.
  let name: String
  private let source: Source
  private let folder: String

  /// Takes the counters of the device that holds `folder`. If they are not readable, those of this process.
  init(_ folder: String) {
    self.folder = folder
    var major: CUnsignedInt = 0
    var minor: CUnsignedInt = 0
    let error = bench_device(folder, &major, &minor)
    let path = "/sys/dev/block/\(major):\(minor)/stat"
    if error == 0, WriteCounter.field(path, 6) != nil {
      source = .device(path)
      name = "the sectors written of \(path), so writes of other programs count too"
    } else {
      source = .process
      name = "write_bytes of /proc/self/io, because the counters of the block device are not readable"
    }
  }

  /// The counter, after a sync of the file system.
  func read() throws -> Int {
    let error = bench_sync_file_system(folder)
    guard error == 0 else { throw Failure.system("sync", error) }
    switch source {
    case .device(let path):
      guard let sectors = WriteCounter.field(path, 6) else { throw Failure("\(path) is not readable any more") }
      return sectors * 512
    case .process:
      guard let count = WriteCounter.processByteCount() else { throw Failure("/proc/self/io is not readable") }
      return count
    }
  }

  /// A number of a line of numbers.
  private static func field(_ path: String, _ place: Int) -> Int? {
    guard let text = text(path) else { return nil }
    let fields = text.split { $0 == " " || $0 == "\n" }
    return place < fields.count ? Int(fields[place]) : nil
  }

  private static func processByteCount() -> Int? {
    for line in (text("/proc/self/io") ?? "").split(separator: "\n") where line.hasPrefix("write_bytes: ") {
      return Int(line.dropFirst(13))
    }
    return nil
  }

  private static func text(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(file, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
