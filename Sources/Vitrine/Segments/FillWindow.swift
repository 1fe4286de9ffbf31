import Synchronization

/// A writable mapping of an open segment, through which records are filled in: no call, and no page looked up twice.
///
/// Populating dirties pages, and a sync writes what is dirty, so at most as much is populated ahead as was written since
/// the last sync: a trickle of records goes by positioned writes.
///
/// Any thread; ranges are those of reservations, which never overlap, and it is closed once there are none. Only for file systems that promise the blocks of
/// an allocated file.
package final class FillWindow: @unchecked Sendable {
  /// Only where stores are announced: a mapping needs no open file.
  private let announced: (any File)?
  /// Nil once closed. `lock` keeps a sync from reaching for what is being unmapped.
  private var pages: PopulatedPages?
  private let lock: RawLock
  /// Bytes filled since the last sync.
  private let filled = Atomic<Int>(0)

  private static let leastFilled = 64 << 10
  private static let mostAhead = 1 << 20
  /// Above this a positioned write is as good.
  private static let largestRecord = 8 << 10
  /// Smaller segments are full before populating pays.
  package static let smallestSegment = 256 << 10

  package init?(file: any File, byteCount: Int) {
    guard byteCount >= FillWindow.smallestSegment, let mapping = try? file.map(byteCount: byteCount, writable: true)
    else { return nil }
    announced = file.announcesStores ? file : nil
    lock = RawLock()
    mapping.guardPages(isWritable: true)
    pages = PopulatedPages(mapping)
  }

  /// Stores a record's two parts at `offset`. False when it has to be written instead.
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
    // Into a file that was cut short, the guard has let it store nowhere.
    return !mapping.isDamaged(UnsafeRawBufferPointer(start: mapping.start + offset, count: range.count))
  }

  /// Call before a sync of the file.
  package func retreat() {
    lock.lock()
    defer { lock.unlock() }
    filled.store(0, ordering: .relaxed)
    pages?.retreat()
  }

  /// Unmaps the file: no reservation will be filled any more.
  package func close() {
    lock.lock()
    defer { lock.unlock() }
    pages = nil
  }

  deinit { lock.destroy() }
}
