/// A list of 64-bit words, appended one by one. Chunks larger than 8 KiB are mapped, so the system reclaims them when
/// the list is freed. The general allocator would keep them, and a checkpoint of a large index takes megabytes.
///
/// Invariant: one thread at a time uses a list. A lock guards its owner, or only one thread has the list.
package final class WordList: @unchecked Sendable {
  private static let (leastChunk, mostChunk) = (128, 64 << 10)
  /// The largest chunk that needs no mapping.
  private static let mostAllocated = 8192

  private var chunks: [PageMemory] = []
  @exclusivity(unchecked) private var end: UnsafeMutablePointer<UInt64>?
  /// The words for which the last chunk has room.
  @exclusivity(unchecked) private var room = 0
  @exclusivity(unchecked) package private(set) var count = 0

  /// Makes a list with room for so many words.
  package init(capacity: Int = 0) {
    if capacity > 0 { grow(by: capacity * 8) }
  }

  deinit { for chunk in chunks { chunk.free() } }

  @inline(__always)
  package func append(_ word: UInt64) {
    // A chunk is as large as a quarter of all others.
    if room == 0 { grow(by: min(max(WordList.leastChunk, count * 2), WordList.mostChunk)) }
    end!.initialize(to: word)
    end! += 1
    room -= 1
    count += 1
  }

  @inline(never)
  private func grow(by byteCount: Int) {
    func allocate(_ byteCount: Int) -> PageMemory? {
      PageMemory(byteCount: byteCount, isAligned: false, isExact: true)
    }
    // A process may have no mapping left, while the allocator still has memory.
    guard let chunk = allocate(byteCount) ?? allocate(min(byteCount, WordList.mostAllocated)) else {
      preconditionFailure("out of memory, as for any allocation of an object")
    }
    chunks.append(chunk)
    end = chunk.start.bindMemory(to: UInt64.self, capacity: chunk.byteCount / 8)
    room = chunk.byteCount / 8
  }

  /// Appends the words of another list.
  package func append(_ other: WordList) { other.forEach(append) }

  /// Calls `body` with each word, in order.
  @inline(__always)
  package func forEach(_ body: (UInt64) -> Void) {
    var words = makeIterator()
    while let word = words.next() { body(word) }
  }

  package func makeIterator() -> Iterator { Iterator(chunks: chunks[...], left: count) }

  package struct Iterator: IteratorProtocol {
    fileprivate var chunks: ArraySlice<PageMemory>
    fileprivate var left: Int
    private var position: UnsafePointer<UInt64>?
    private var inChunk = 0

    fileprivate init(chunks: ArraySlice<PageMemory>, left: Int) { (self.chunks, self.left) = (chunks, left) }

    @inline(__always)
    package mutating func next() -> UInt64? {
      if inChunk == 0 {
        guard left > 0, let chunk = chunks.popFirst() else { return nil }
        inChunk = min(chunk.byteCount / 8, left)
        position = UnsafePointer(chunk.start.assumingMemoryBound(to: UInt64.self))
      }
      defer { position! += 1 }
      inChunk -= 1
      left -= 1
      return position!.pointee
    }
  }
}
