import Synchronization

/// A writable mapping of an open segment, which fills in records without a system call.
///
/// Populating dirties pages, and a sync writes all dirty pages. So at most as much is populated ahead as was
/// written since the last sync. A few records use positioned writes instead.
///
/// Any thread. Ranges are those of reservations, which never overlap; it is closed once there are none. Only for
/// file systems that promise the blocks of an allocated file.
///
/// Invariant: `pages` changes only in `close()`, under `lock`, after the last reservation of the segment was filled.
package final class FillWindow: @unchecked Sendable {
  /// Set only where stores are announced: a mapping needs no open file.
  private let announced: (any File)?
  /// The mapping; nil once closed. `lock` keeps a sync from using a mapping that is being unmapped.
  private var pages: PopulatedPages?
  private let lock: RawLock
  /// Bytes filled since the last sync.
  private let filled = Atomic<Int>(0)

  private static let leastFilled = 64 << 10
  private static let mostAhead = 1 << 20
  /// Above this size a positioned write is as fast.
  private static let largestRecord = 8 << 10
  /// A smaller segment is full before populating pays off.
  package static let smallestSegment = 256 << 10

  package init?(file: any File, byteCount: Int) {
    guard byteCount >= FillWindow.smallestSegment, let mapping = try? file.map(byteCount: byteCount, writable: true)
    else { return nil }
    announced = file.announcesStores ? file : nil
    lock = RawLock()
    mapping.guardPages(isWritable: true)
    pages = PopulatedPages(mapping)
  }

  /// Stores a record's two parts at `offset`. Returns false if the caller must write them instead.
  package func store(_ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    let range = offset..<offset + head.count + payload.count
    guard range.count <= FillWindow.largestRecord, let pages, range.upperBound <= pages.mapping.byteCount else {
      return false
    }
    let mapping = pages.mapping
    let before = filled.wrappingAdd(range.count, ordering: .relaxed).oldValue
    if !pages.covers(range) {
      guard before >= FillWindow.leastFilled, pages.move(to: range, ahead: min(before, FillWindow.mostAhead)) else {
        return false
      }
    }
    announced?.willStore(range)
    if let start = head.baseAddress { (mapping.start + offset).copyMemory(from: start, byteCount: head.count) }
    if let start = payload.baseAddress {
      (mapping.start + offset + head.count).copyMemory(from: start, byteCount: payload.count)
    }
    announced?.didStore(range)
    // If the file was cut short, the bus error guard has discarded the stores.
    return !mapping.isDamaged(UnsafeRawBufferPointer(start: mapping.start + offset, count: range.count))
  }

  /// Call before a sync of the file.
  package func retreat() {
    lock.lock()
    defer { lock.unlock() }
    filled.store(0, ordering: .relaxed)
    pages?.retreat()
  }

  /// Unmaps the file. No reservation may be filled through it afterwards.
  package func close() {
    lock.lock()
    defer { lock.unlock() }
    pages = nil
  }

  deinit { lock.destroy() }
}
