/// The content of `LOCK`: the id of the process that has the store open for writing, and the mark of a failed sync.
enum LockFile {
  static let byteCount = 64

  static func contents(isMarked: Bool, processID: Int32 = currentProcessID()) -> [UInt8] {
    var text = "vitrine \(processID)\n"
    if isMarked { text += "sync-failed\n" }
    return Array(text.utf8) + [UInt8](repeating: 0x20, count: byteCount - text.utf8.count - 1) + [0x0A]
  }

  static func isOursOrBlank(_ file: any File) -> Bool {
    let bytes = (try? file.read(0..<byteCount + 1)) ?? []
    return read(file).isOurs || (bytes.count <= byteCount && bytes.allSatisfy { $0 == 0 })
  }

  /// Reads `LOCK`. A file that cannot be read counts as marked, since it may hold a mark.
  static func read(_ file: any File) -> (isOurs: Bool, processID: Int32, isMarked: Bool) {
    guard let bytes = try? file.read(0..<byteCount) else { return (false, 0, true) }
    let text = String(decoding: bytes, as: UTF8.self)
    let lines = text.split(separator: "\n")
    let isOurs = lines.first?.hasPrefix("vitrine ") ?? false
    let processID = isOurs ? lines.first.flatMap { Int32($0.dropFirst(8)) } ?? 0 : 0
    return (isOurs, processID, lines.dropFirst().contains("sync-failed"))
  }
}
