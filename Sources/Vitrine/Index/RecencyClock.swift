import CVitrineSystem
import Synchronization

/// Numbers uses: each use gets a stamp. Within a thread, a later use has a higher stamp. Between threads that holds
/// for uses with a call of ``endBlocks()`` between them.
///
/// Stamps have 32 bits and wrap around, so they are compared by age: the number of stamps given since. Ages stay
/// below ``oldestAge`` because upkeep calls ``KeyTable/liftOldStamps()`` soon after each 2^30 stamps.
///
/// Any thread may tick. A thread takes blocks of stamps from the shared counter, of 1, 2, 4 and up to ``largestBlock``
/// stamps, so that few hits write to memory that threads share. ``endBlocks()`` makes all blocks void; their remaining
/// stamps are skipped, at most as many as were given.
///
/// Invariant: `counter` and `generation` are initialized atomics until deinit. `givesBlocks` changes only before other
/// threads use the clock.
package final class RecencyClock: @unchecked Sendable {
  /// An age above it means that the stamp was given after the moment of the comparison.
  package static let oldestAge = UInt32.max - 1 << 24
  package static let largestBlock: UInt32 = 64
  private static let lineByteCount = 128
  private static let generations = Atomic<UInt64>(0)

  /// Each on a cache line of its own.
  private let counter: UnsafeMutablePointer<Atomic<UInt64>>
  private let generation: UnsafeMutablePointer<Atomic<UInt64>>
  /// Whether threads take more than one stamp at a time. Without it, stamps are in order between all threads. Set
  /// before the clock is used.
  @exclusivity(unchecked) package var givesBlocks = false

  package init() {
    func line() -> UnsafeMutableRawPointer {
      .allocate(byteCount: RecencyClock.lineByteCount, alignment: RecencyClock.lineByteCount)
    }
    counter = line().bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    counter.initialize(to: Atomic(0))
    generation = line().bindMemory(to: Atomic<UInt64>.self, capacity: 1)
    generation.initialize(to: Atomic(0))
    endBlocks()
  }

  deinit {
    counter.deallocate()
    generation.deallocate()
  }

  /// The number of stamps taken so far, alone or in a block, since the store was made. Stamps are its low 32 bits.
  package var count: UInt64 { counter.pointee.load(ordering: .relaxed) }

  /// The highest stamp taken so far, alone or in a block.
  package var now: UInt32 { UInt32(truncatingIfNeeded: count) }

  @inline(__always)
  package func tick() -> UInt32 {
    guard givesBlocks else {
      return UInt32(truncatingIfNeeded: counter.pointee.wrappingAdd(1, ordering: .relaxed).newValue)
    }
    let current = generation.pointee.load(ordering: .relaxed)
    let block = vitrine_this_threads_stamps(current)!
    guard block.pointee.generation == current, block.pointee.left > 0 else { return takeBlock(block, current) }
    block.pointee.left &-= 1
    block.pointee.next &+= 1
    return block.pointee.next
  }

  @inline(never)
  private func takeBlock(_ block: UnsafeMutablePointer<vitrine_stamps>, _ current: UInt64) -> UInt32 {
    let size =
      block.pointee.generation == current ? min(block.pointee.size &* 2, RecencyClock.largestBlock) : 1
    let before = counter.pointee.wrappingAdd(UInt64(size), ordering: .relaxed).oldValue
    let first = UInt32(truncatingIfNeeded: before) &+ 1
    block.pointee = vitrine_stamps(generation: current, next: first, left: size &- 1, size: size)
    return first
  }

  /// Makes the stamps of later ticks higher than all stamps taken before the call.
  package func endBlocks() {
    let next = RecencyClock.generations.wrappingAdd(1, ordering: .relaxed).newValue
    generation.pointee.store(next, ordering: .relaxed)
  }

  /// Continues from the clock of an earlier opening.
  package func set(_ count: UInt64) {
    counter.pointee.store(count, ordering: .relaxed)
    endBlocks()
  }

  /// Returns how many stamps before `now` a stamp was given; 0 for one given after it.
  @inline(__always)
  package static func age(of stamp: UInt32, at now: UInt32) -> UInt32 {
    let age = now &- stamp
    return age > oldestAge ? 0 : age
  }

  /// The age of an entry whose exact age is forgotten. With 2^30 more stamps, it stays below ``oldestAge``.
  static let oldestKept = UInt64(1) << 31 + UInt64(1) << 29

  /// Returns a stamp as of `count`, given as it was at an earlier reading of the clock. Entries that are older than
  /// 2^31 + 2^29 stamps get the same age.
  @inline(__always)
  package static func rebased(_ stamp: UInt32, from earlier: UInt64, to count: UInt64) -> UInt32 {
    let age = UInt64(age(of: stamp, at: UInt32(truncatingIfNeeded: earlier))) &+ (count &- min(earlier, count))
    // A stamp that was given after the reading keeps its place among later ones.
    if age <= 1 << 30 { return stamp }
    return UInt32(truncatingIfNeeded: count &- min(age, oldestKept))
  }
}
