import Synchronization

/// A file of the write-ahead log.
///
/// Invariant: only the ``LogWriter`` writes to it, so one thread at a time moves `pages`. Any thread syncs it.
package final class LogFile: @unchecked Sendable {
  package let name: String
  package let file: any File
  package let byteCount: Int
  /// The bytes by which the file counts against the budget now.
  package var chargedByteCount: Int { (try? file.status().chargedByteCount(atMost: byteCount)) ?? byteCount }
  /// Stores frames without a system call, if the file system promises the blocks of an allocated file.
  private let pages: PopulatedPages?
  /// Bytes of frames since the last sync.
  private let filled = Atomic<Int>(0)

  package init(name: String, file: any File, byteCount: Int, isMapped: Bool) {
    self.name = name
    self.file = file
    self.byteCount = byteCount
    let mapping = isMapped ? try? file.map(byteCount: byteCount, writable: true) : nil
    mapping?.guardPages(isWritable: true)
    pages = mapping.map { PopulatedPages($0) }
  }

  private static let largestStore = 2048
  /// The bytes of frames since the last sync from which further frames count as a burst (``write(_:at:awaitsSync:)``).
  /// Fewer in a small file, because it has small folios.
  private var leastFilled: Int { min(64 << 10, byteCount / 32) }
  /// Bytes of pages that are populated ahead. Few, since a sync writes all populated pages.
  private static let ahead = 16 << 10

  /// Writes a frame. A store into a mapping dirties the whole folio under it, up to 1 MiB, and the next sync writes all
  /// of that. A positioned write dirties only its own blocks. So only a burst of frames uses the mapping, and a frame
  /// with `awaitsSync` never does.
  func write(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, awaitsSync: Bool
  ) throws(SystemError) {
    let range = offset..<offset + bytes.count
    let before = filled.wrappingAdd(bytes.count, ordering: .relaxed).oldValue
    guard let pages, let start = bytes.baseAddress, bytes.count <= LogFile.largestStore, !awaitsSync,
      before >= leastFilled, pages.covers(range) || pages.move(to: range, ahead: LogFile.ahead)
    else {
      return try file.write(bytes, at: offset)
    }
    let announces = file.announcesStores
    if announces { file.willStore(range) }
    let place = pages.mapping.start + offset
    place.copyMemory(from: start, byteCount: bytes.count)
    if announces { file.didStore(range) }
    if pages.mapping.isDamaged(UnsafeRawBufferPointer(start: place, count: bytes.count)) {
      throw SystemError(code: SystemError.ioError, operation: "write", path: file.path)
    }
  }

  func sync() throws(SystemError) {
    filled.store(0, ordering: .relaxed)
    pages?.retreat()
    try file.sync()
  }

  /// Overwrites the first bytes with zeros, and syncs the file. O(byteCount).
  package func erase(_ byteCount: Int) throws(SystemError) {
    let zeros = [UInt8](repeating: 0, count: min(byteCount, 1 << 20))
    for offset in stride(from: 0, to: byteCount, by: max(zeros.count, 1)) {
      try file.write(Array(zeros.prefix(byteCount - offset)), at: offset)
    }
    try sync()
  }
}
