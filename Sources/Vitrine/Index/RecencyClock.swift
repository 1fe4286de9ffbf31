import Synchronization

/// Numbers uses: whatever is used gets a stamp, one more than all before.
///
/// Stamps have 32 bits and come round, so what counts is an age: how many uses ago a stamp was given. Ages stay below
/// ``oldestAge`` because ``KeyTable/liftOldStamps()`` is called before 2^30 uses have gone by since the last time.
///
/// Any thread may tick; a tick is one atomic addition, on a cache line of its own.
package final class RecencyClock: @unchecked Sendable {
  /// Above it, an age says that the stamp was given after the moment it is compared with.
  package static let oldestAge = UInt32.max - 1 << 24
  private static let lineByteCount = 128

  private let counter: UnsafeMutablePointer<Atomic<UInt32>>

  init() {
    let line = UnsafeMutableRawPointer.allocate(
      byteCount: RecencyClock.lineByteCount, alignment: RecencyClock.lineByteCount)
    counter = line.bindMemory(to: Atomic<UInt32>.self, capacity: 1)
    counter.initialize(to: Atomic(0))
  }

  deinit { counter.deallocate() }

  package var now: UInt32 { counter.pointee.load(ordering: .relaxed) }

  @inline(__always)
  package func tick() -> UInt32 { counter.pointee.wrappingAdd(1, ordering: .relaxed).newValue }

  /// For a store that goes on from where another opening was.
  package func set(_ now: UInt32) { counter.pointee.store(now, ordering: .relaxed) }

  /// How many uses before `now` a stamp was given; 0 for one given after it.
  @inline(__always)
  package static func age(of stamp: UInt32, at now: UInt32) -> UInt32 {
    let age = now &- stamp
    return age > oldestAge ? 0 : age
  }
}
