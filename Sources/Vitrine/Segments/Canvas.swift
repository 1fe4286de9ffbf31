/// The memory of a payload's room in a segment, to be drawn into.
///
/// Where the file system promises its blocks this is a writable mapping of the file, whose pages are brought in first, so
/// that one which the disk cannot deliver is met as an answer and never by a fault; elsewhere, and when that fails, it is
/// memory that ``commit()`` writes. The first and the last page may hold other records too: only the room's own bytes
/// are ever touched.
///
/// Invariants: `bytes` is the room, zeroed at first, and valid as long as the canvas; the room is nobody else's until
/// then. Not thread-safe; has one owner.
final class Canvas {
  let bytes: UnsafeMutableRawBufferPointer
  private let file: any File
  private let range: Range<Int>
  private let mapping: Mapping?
  private let memory: PageMemory?
  private var isAnnounced = false

  /// Nil when there is no memory. `isMapped` asks for a mapping.
  init?(_ file: any File, _ range: Range<Int>, isMapped: Bool) {
    self.file = file
    self.range = range
    if isMapped, let mapping = try? file.map(byteCount: range.upperBound, writable: true), mapping.populate(range) {
      self.mapping = mapping
      mapping.guardPages(isWritable: true)
      memory = nil
      bytes = UnsafeMutableRawBufferPointer(start: mapping.start + range.lowerBound, count: range.count)
      if file.announcesStores {
        file.willStore(range)
        isAnnounced = true
      }
      // What was abandoned here before, or drawn over, must not show through.
      zeroMemory(mapping.start + range.lowerBound, range.count)
    } else {
      guard let memory = PageMemory(byteCount: range.count) else { return nil }
      mapping = nil
      self.memory = memory
      bytes = UnsafeMutableRawBufferPointer(start: memory.start, count: range.count)
    }
  }

  deinit {
    endStores()
    memory?.free()
  }

  private func endStores() {
    if isAnnounced { file.didStore(range) }
    isAnnounced = false
  }

  /// What was drawn is in the file.
  func commit() throws(SystemError) {
    endStores()
    if mapping?.isDamaged(UnsafeRawBufferPointer(bytes)) ?? false {
      throw SystemError(code: 5, operation: "draw", path: file.path)
    }
    if memory != nil { try file.write(UnsafeRawBufferPointer(bytes), at: range.lowerBound) }
  }
}
