import Vitrine

/// The content of a file, as a value: a length, and pages, some of which may be missing.
///
/// A missing page reads as zeros and takes no disk space (a hole); ``Page/zero`` reads as zeros and takes space
/// (allocated). Copies share their pages and cost one reference a page.
///
/// Invariant, except between ``setLengthOnly(_:)`` or ``write(_:at:)`` and ``trim()``: bytes past the length are zero
/// and have no pages.
struct FileContent: Sendable {
  private(set) var byteCount = 0
  private(set) var allocatedPageCount = 0
  /// May be shorter than the length.
  private var pages: [Page?] = []

  init() {}

  init(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { write($0, at: 0) }
    byteCount = bytes.count
  }

  static func pageRange(_ bytes: Range<Int>) -> Range<Int> {
    if bytes.isEmpty { return 0..<0 }
    return bytes.lowerBound / Page.byteCount..<(bytes.upperBound - 1) / Page.byteCount + 1
  }

  func hasPage(_ number: Int) -> Bool { number < pages.count && pages[number] != nil }

  /// Calls `body` with each page that has blocks.
  func forEachPage(_ body: (_ number: Int) -> Void) {
    for (number, page) in pages.enumerated() where page != nil { body(number) }
  }

  /// Calls `body` with the pages that were written to.
  func forEachWrittenPage(_ body: (_ offset: Int, _ page: Page) -> Void) {
    for (number, page) in pages.enumerated() {
      if let page, page !== Page.zero { body(number * Page.byteCount, page) }
    }
  }

  /// Copies the existing bytes of `[offset, offset + buffer.count)`; returns their number.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let count = Swift.min(buffer.count, byteCount - offset)
    guard count > 0, let target = buffer.baseAddress else { return 0 }
    for number in FileContent.pageRange(offset..<offset + count) {
      let begin = Swift.max(number * Page.byteCount, offset)
      let end = Swift.min((number + 1) * Page.byteCount, offset + count)
      if hasPage(number), let page = pages[number] {
        (target + (begin - offset)).copyMemory(
          from: page.bytes + (begin - number * Page.byteCount), byteCount: end - begin)
      } else {
        zeroMemory(target + (begin - offset), end - begin)
      }
    }
    return count
  }

  func bytes() -> [UInt8] {
    // For an empty array the initializer writes to storage that all threads share.
    if byteCount == 0 { return [] }
    return [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
      count = read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
    }
  }

  /// Writes bytes, and leaves the length unchanged.
  mutating func write(_ source: UnsafeRawBufferPointer, at offset: Int) {
    guard let start = source.baseAddress, source.count > 0 else { return }
    for number in FileContent.pageRange(offset..<offset + source.count) {
      let begin = Swift.max(number * Page.byteCount, offset)
      let end = Swift.min((number + 1) * Page.byteCount, offset + source.count)
      let page = ownPage(number)
      (page.bytes + (begin - number * Page.byteCount)).copyMemory(
        from: start + (begin - offset), byteCount: end - begin)
      page.bytesChanged()
    }
  }

  /// Allocates the missing blocks of the pages that `range` touches.
  mutating func allocate(_ range: Range<Int>) {
    let touched = FileContent.pageRange(range)
    grow(toHold: touched.upperBound)
    for number in touched where pages[number] == nil {
      pages[number] = Page.zero
      allocatedPageCount += 1
    }
  }

  /// Lengthens or shortens the file; added bytes read as zeros.
  mutating func setLength(_ newCount: Int) {
    byteCount = newCount
    trim()
  }

  /// Changes the length and keeps the bytes behind it, for a disk that is still being built.
  mutating func setLengthOnly(_ newCount: Int) { byteCount = newCount }

  /// Drops the bytes past the length.
  mutating func trim() {
    let kept = (byteCount + Page.byteCount - 1) / Page.byteCount
    while pages.count > kept {
      if pages.removeLast() != nil { allocatedPageCount -= 1 }
    }
    let rest = byteCount % Page.byteCount
    if rest != 0, hasPage(kept - 1), pages[kept - 1] !== Page.zero {
      let page = ownPage(kept - 1)
      zeroMemory(page.bytes + rest, Page.byteCount - rest)
      page.bytesChanged()
    }
  }

  /// Equal for equal length, bytes and allocation.
  var fingerprint: UInt64 {
    var state = mixed(UInt64(byteCount), 1)
    for (number, page) in pages.enumerated() {
      if let page { state = mixed(state ^ page.fingerprint, UInt64(number)) }
    }
    return state
  }

  private mutating func grow(toHold count: Int) {
    if pages.count < count { pages.append(contentsOf: repeatElement(nil, count: count - pages.count)) }
  }

  /// Returns the page, copied first if other contents refer to it.
  private mutating func ownPage(_ number: Int) -> Page {
    grow(toHold: number + 1)
    if isKnownUniquelyReferenced(&pages[number]), let page = pages[number] { return page }
    let page: Page
    if let shared = pages[number] {
      page = shared === Page.zero ? Page() : Page(copying: shared)
    } else {
      page = Page()
      allocatedPageCount += 1
    }
    pages[number] = page
    return page
  }
}
