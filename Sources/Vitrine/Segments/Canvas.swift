/// The memory of a payload's reservation in a segment, for drawing.
///
/// If the file system promises the blocks of an allocated file, this is a writable mapping of the file. Its pages
/// are populated first, so a page that the disk cannot deliver is an error and never a fault. Elsewhere, or if that
/// fails, it is memory that ``commit()`` writes. The first and the last page may hold other records too: only the
/// reservation's own bytes are ever touched.
///
/// Invariants: `bytes` is the reservation, zeroed at first, and valid as long as the canvas; until the end of the
/// canvas no other code uses the reservation. Not thread-safe; has one owner.
final class Canvas {
  let bytes: UnsafeMutableRawBufferPointer
  private let file: any File
  private let range: Range<Int>
  private let mapping: Mapping?
  private let memory: PageMemory?
  private var isAnnounced = false

  /// Returns nil if memory is short. `isMapped` asks for a mapping.
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
      // The bytes of an abandoned record or drawing must not show through.
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

  /// Brings the drawing into the file.
  func commit() throws(SystemError) {
    endStores()
    if mapping?.isDamaged(UnsafeRawBufferPointer(bytes)) ?? false {
      throw SystemError(code: SystemError.ioError, operation: "draw", path: file.path)
    }
    if memory != nil { try file.write(UnsafeRawBufferPointer(bytes), at: range.lowerBound) }
  }
}
