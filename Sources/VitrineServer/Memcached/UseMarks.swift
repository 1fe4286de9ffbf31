import Synchronization
import Vitrine

/// Records which items were fetched since they were stored, for the flag `h` of `mg`. Recording begins with the first
/// such request. There are 65,536 slots; of two keys in one slot, only the later one is recorded.
///
/// Invariant: the memory lives as long as the object, and its words are atomic.
final class UseMarks: @unchecked Sendable {
  private static let count = 1 << 16
  private let marks: UnsafeMutablePointer<Atomic<UInt32>>
  private let isWatching = Atomic<Bool>(false)

  init() {
    marks = .allocate(capacity: UseMarks.count)
    for index in 0..<UseMarks.count { (marks + index).initialize(to: Atomic(0)) }
  }

  deinit {
    marks.deinitialize(count: UseMarks.count)
    marks.deallocate()
  }

  func watch() {
    if !isWatching.load(ordering: .relaxed) { isWatching.store(true, ordering: .relaxed) }
  }

  @inline(__always)
  func note(_ key: CacheKey) {
    if isWatching.load(ordering: .relaxed) { set(key, true) }
  }

  /// Removes the record of an item that is stored again.
  @inline(__always)
  func forget(_ key: CacheKey) {
    if isWatching.load(ordering: .relaxed) { set(key, false) }
  }

  func has(_ key: CacheKey) -> Bool {
    let (place, tag) = UseMarks.place(key)
    return marks[place].load(ordering: .relaxed) == tag
  }

  private func set(_ key: CacheKey, _ isUsed: Bool) {
    let (place, tag) = UseMarks.place(key)
    let present = marks[place].load(ordering: .relaxed)
    if isUsed, present != tag { marks[place].store(tag, ordering: .relaxed) }
    if !isUsed, present == tag { marks[place].store(0, ordering: .relaxed) }
  }

  private static func place(_ key: CacheKey) -> (Int, UInt32) {
    let hash = UInt(bitPattern: key.hashValue)
    return (Int(hash % UInt(count)), UInt32(truncatingIfNeeded: hash >> 20) | 1)
  }
}
