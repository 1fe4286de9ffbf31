import Testing

@testable import Vitrine

private enum LowLevel: LockLevel {
  static var rank: UInt { 0 }
}

private enum HighLevel: LockLevel {
  static var rank: UInt { 1 }
}

/// A debug build stops at a lock that is taken out of order.
@Suite struct LockOrderTests {
  @Test func locksInTheirOrderAreTaken() {
    let (low, high) = (LevelLock<LowLevel, Int>(1), LevelLock<HighLevel, Int>(2))
    let sum = low.withLock { low in high.withLock { high in low.state + high.state } }
    let alone = high.withLock { $0.state } + low.withLock { $0.state }
    #expect(sum == 3 && alone == 3)
  }

  #if DEBUG
    @Test func aLowerLockUnderAHigherOneStopsTheProcess() async {
      await #expect(processExitsWith: .failure) {
        let (low, high) = (LevelLock<LowLevel, Void>(()), LevelLock<HighLevel, Void>(()))
        high.withLock { _ in low.withLock { _ in } }
      }
    }

    @Test func aLockTakenTwiceStopsTheProcess() async {
      await #expect(processExitsWith: .failure) {
        let lock = LevelLock<LowLevel, Void>(())
        lock.withLock { _ in lock.withLock { _ in } }
      }
    }
  #endif
}
