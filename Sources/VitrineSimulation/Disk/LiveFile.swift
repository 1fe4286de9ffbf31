import Vitrine

/// A file as the programs that have it open see it. Mappings show its memory without the disk's lock.
///
/// Once the file was mapped, its bytes are in `memory`. Handles read and write them there too, so that both are
/// coherent. `content` then has only the file's length and allocated pages.
///
/// Invariant: all fields are touched only under the disk's lock.
final class LiveFile: @unchecked Sendable {
  let number: Int
  private(set) var content: FileContent
  private(set) var memory: FileMemory?
  /// Handles and mappings.
  private var holdCount = 0
  private var isNamed = true
  /// The handle that has the exclusive lock.
  private var lockOwner: UInt64?

  init(number: Int, content: FileContent) {
    self.number = number
    self.content = content
  }

  var byteCount: Int { content.byteCount }

  // MARK: Holds and the lock

  /// Whether it has no name and no holds. Then its blocks are free.
  var isUnused: Bool { !isNamed && holdCount == 0 }

  func hold() { holdCount += 1 }
  func endHold() { holdCount -= 1 }
  func loseName() { isNamed = false }

  /// Gives the lock to a handle if no other one has it. Returns whether the handle has it now.
  func tryLock(for handle: UInt64) -> Bool {
    if lockOwner == nil { lockOwner = handle }
    return lockOwner == handle
  }

  /// Ends the lock if this handle has it.
  func unlock(by handle: UInt64) { if lockOwner == handle { lockOwner = nil } }

  // MARK: Content

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    guard let memory else { return content.read(into: buffer, at: offset) }
    let count = Swift.min(buffer.count, content.byteCount - offset)
    guard count > 0, let target = buffer.baseAddress else { return 0 }
    target.copyMemory(from: memory.start + offset, byteCount: count)
    return count
  }

  func bytes(_ range: Range<Int>) -> [UInt8] {
    // For an empty array the initializer writes to storage that all threads share.
    if range.isEmpty { return [] }
    return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      count = read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
    }
  }

  func write(_ bytes: [UInt8], at offset: Int) {
    bytes.withUnsafeBytes { source in
      if let memory, let start = source.baseAddress {
        content.allocate(offset..<offset + bytes.count)
        memory.noteExtent(offset + bytes.count)
        (memory.start + offset).copyMemory(from: start, byteCount: bytes.count)
      } else {
        content.write(source, at: offset)
      }
    }
    if offset + bytes.count > byteCount { content.setLength(offset + bytes.count) }
  }

  /// Allocates blocks for a range that was stored to through a mapping.
  func notedStore(_ range: Range<Int>) { content.allocate(range) }

  func allocate(_ byteCount: Int) {
    content.allocate(0..<byteCount)
    if byteCount > self.byteCount { content.setLength(byteCount) }
  }

  func setLength(_ newCount: Int) {
    if let memory, newCount < memory.extent { zeroMemory(memory.start + newCount, memory.extent - newCount) }
    content.setLength(newCount)
  }

  /// Moves the bytes to mappable memory of at least `reserve` bytes. Returns false if the address space is used up,
  /// or if the file was mapped before with less memory.
  func makeMappable(reserve: Int, needed: Int, reusesMemory: Bool) -> Bool {
    if let memory { return needed <= memory.byteCount }
    guard let fresh = FileMemory(byteCount: Swift.max(reserve, needed, byteCount), isReused: reusesMemory) else {
      return false
    }
    content.forEachWrittenPage { offset, page in
      let count = Swift.min(Page.byteCount, byteCount - offset)
      // Most pages of a new log are zeros; the memory is used only where it is touched.
      if count <= 0 || page.fingerprint == Page.zero.fingerprint { return }
      fresh.noteExtent(offset + count)
      (fresh.start + offset).copyMemory(from: page.bytes, byteCount: count)
    }
    // The pages now count only as blocks.
    var blocks = FileContent()
    content.forEachPage { blocks.allocate($0 * Page.byteCount..<($0 + 1) * Page.byteCount) }
    blocks.setLength(byteCount)
    content = blocks
    memory = fresh
    return true
  }

  /// The largest length of the file.
  var limit: Int { memory?.byteCount ?? LiveFile.maximumByteCount }
  /// Page tables are dense, so an absurd length must be refused.
  static let maximumByteCount = 4 << 30
}
