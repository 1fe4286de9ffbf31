import Synchronization

/// A writable mapping of an open segment, which fills in records without a system call.
///
/// Populating dirties pages, and a sync writes all dirty pages. So at most as much is populated ahead as was
/// written since the last sync. ``PagePopulator`` populates pages on its own thread, and more when half of them are
/// used. Records whose pages are not populated, such as the first ones after a sync, are written by positioned writes.
///
/// Any thread. Each range is that of a reservation, and reservations never overlap. The window is closed once the
/// segment has no unfilled reservation. Only for file systems that promise the blocks of an allocated file.
///
/// Invariant: `pages` changes only in `close()`, under `lock`, after the last reservation of the segment was filled.
package final class FillWindow: @unchecked Sendable {
  /// Set only where stores are announced: a mapping needs no open file.
  private let announced: (any File)?
  /// The mapping; nil once closed. `lock` keeps a sync from using a mapping that is being unmapped. No thread holds it
  /// while pages are populated.
  private var pages: PopulatedPages?
  /// The number of calls of ``retreat()``. Under `lock`.
  private var retreatCount = 0
  private let lock: RawLock
  /// Bytes filled since the last sync, or since the last failed attempt to populate pages.
  private let filled = Atomic<Int>(0)
  /// Where the latest record begins.
  private let latest = Atomic<Int>(0)
  /// Whether pages are being populated, or will be.
  private let isPopulating = Atomic<Bool>(false)

  private static let leastFilled = 64 << 10
  private static let mostAhead = 1 << 20
  /// A sync that begins meanwhile writes at most these bytes in vain.
  private static let step = 64 << 10
  /// After so many steps, another window has its turn.
  private static let mostSteps = 32
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
    latest.store(range.lowerBound, ordering: .relaxed)
    let ahead = min(before, FillWindow.mostAhead)
    if !pages.covers(range) {
      guard before >= FillWindow.leastFilled, populate(range, pages) else { return false }
    } else if ahead >= FillWindow.leastFilled, pages.areFew(after: range, least: ahead / 2), announced == nil {
      populateLater()
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

  /// Populates the pages of a range, or has a thread do so. Returns true if they are populated now. Where stores are
  /// announced, a run must not depend on the times of another thread.
  private func populate(_ range: Range<Int>, _ pages: PopulatedPages) -> Bool {
    if announced != nil { return pages.move(to: range, ahead: aheadByteCount) }
    populateLater()
    return false
  }

  /// The number of bytes to populate from the latest record on.
  private var aheadByteCount: Int { min(filled.load(ordering: .relaxed), FillWindow.mostAhead) }

  @inline(never)
  private func populateLater() {
    if isPopulating.load(ordering: .relaxed) || isPopulating.exchange(true, ordering: .relaxed) { return }
    if PagePopulator.shared.request(self) { return }
    putOff()
    isPopulating.store(false, ordering: .relaxed)
  }

  /// Lets as many records as after a sync go by before the next attempt to populate pages.
  private func putOff() { filled.store(0, ordering: .relaxed) }

  /// Populates the pages that are missing for the latest record and behind it. ``PagePopulator`` calls it.
  func populateAhead() {
    var last: Missing?
    // The first turn only looks, and each later one takes a step.
    for _ in 0...FillWindow.mostSteps {
      var isPopulated = false
      if let last { isPopulated = last.pages.mapping.populate(last.range) }
      lock.lock()
      if let last, isPopulated, retreatCount == last.retreatCount { last.pages.add(last.range, from: last.latest) }
      if last != nil, !isPopulated { putOff() }
      last = missing(least: last == nil ? 1 : FillWindow.step)
      lock.unlock()
      if last == nil { break }
    }
    isPopulating.store(false, ordering: .relaxed)
  }

  /// Pages to populate.
  private struct Missing {
    /// Keeps the mapping until they are populated.
    let pages: PopulatedPages
    let range: Range<Int>
    let latest: Int
    let retreatCount: Int
  }

  /// Returns the next step; nil if fewer than `least` bytes are missing or a sync came between. Under `lock`.
  private func missing(least: Int) -> Missing? {
    let (ahead, latest) = (aheadByteCount, latest.load(ordering: .relaxed))
    guard let pages, ahead >= FillWindow.leastFilled,
      let all = pages.missing(from: latest, ahead: ahead), all.count >= least
    else { return nil }
    let range = all.lowerBound..<min(all.upperBound, all.lowerBound + FillWindow.step)
    return Missing(pages: pages, range: range, latest: latest, retreatCount: retreatCount)
  }

  /// Releases the populated pages, and stops populating more until enough records were written. Call before a sync of
  /// the file.
  package func retreat() {
    lock.lock()
    defer { lock.unlock() }
    retreatCount += 1
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
