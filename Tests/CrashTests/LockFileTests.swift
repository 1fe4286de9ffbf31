import Testing
import VitrineSimulation

@testable import Vitrine

/// Rule 8: `LOCK` has a durable name and a durable block before it has a line.
@Suite struct LockFileTests {
  private static let path = "\(Workload.path)/LOCK"

  private func closedStoreWithoutLock() throws -> SimulatedWorld {
    let work = try Workload()
    try work.put("a", Workload.bytes(500, 1), synced: true)
    try work.close()
    let world = work.world.rebooted(work.world.disk.copy())
    #expect(world.disk.remove(Self.path))
    return world
  }

  private func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: StoreOptions(), environment: world.environment)
  }

  /// The power is lost after any operation of the opening that recreates `LOCK`; or the process dies there, another
  /// one opens the store, and then the power is lost. An opening on a full disk finds a block for its line.
  @Test func recreatedLockSurvivesALossOfPower() throws {
    let world = try closedStoreWithoutLock()
    let first = world.disk.operationCount
    let store = try open(world)
    #expect(store.bytes("a") == Workload.bytes(500, 1))
    #expect(store.statistics().bytesOnDisk == world.disk.usedByteCount)
    let last = world.disk.operationCount
    store.abandon()
    func expectLock(_ disk: SimulatedDisk, _ place: String) throws {
      let left = world.rebooted(disk)
      left.disk.fillUp(refusingNewNames: true)
      let again = try open(left)
      #expect(again.bytes("a") == Workload.bytes(500, 1), "\(place)")
      #expect(
        LockFile.read(try left.disk.openDirectory(Workload.path, create: false).openFile("LOCK", .readOnly)).isOurs)
      again.abandon()
    }
    try expectLock(world.disk.crashStates(after: last).disk(.everythingLost), "after the opening")
    for moment in first...last {
      let died = world.rebooted(world.disk.crashStates(after: moment).diskAfterProcessDeath())
      let second = try open(died)
      second.abandon()
      try expectLock(died.disk.crashStates().disk(.everythingLost), "died after \(moment)")
    }
  }

  /// Without room for its block no opening takes the store, and no other file is touched.
  @Test func fullDiskWithoutLockIsNoSpaceAndNoHarm() throws {
    let world = try closedStoreWithoutLock()
    world.disk.fillUp()
    #expect(throws: StoreError.noSpace) { _ = try open(world) }
    world.disk.setCapacity(1 << 30)
    let store = try open(world)
    #expect(store.bytes("a") == Workload.bytes(500, 1) && store.statistics().lastOpen.kind == .clean)
    try store.close()
  }

  /// A mark that may be in a damaged `LOCK` is in it at every later moment.
  @Test func markInADamagedLineIsKept() throws {
    let world = try closedStoreWithoutLock()
    try open(world).close()
    let text = Array("?\nsync-failed\n".utf8)
    #expect(world.disk.setContents(Self.path, text + [UInt8](repeating: 0x20, count: 64 - text.count)))
    let next = world.rebooted(world.disk.copy())
    let first = next.disk.operationCount
    let store = try open(next)
    store.abandon()
    let line = try #require(
      (first...next.disk.operationCount).first { moment in
        let disk = next.disk.crashStates(after: moment).diskAfterProcessDeath()
        return disk.contents(Self.path).map { String(decoding: $0, as: UTF8.self).hasPrefix("vitrine") } ?? false
      })
    for moment in first...line {
      let disk = next.disk.crashStates(after: moment).diskAfterProcessDeath()
      let file = try disk.openDirectory(Workload.path, create: false).openFile("LOCK", .readOnly)
      #expect(LockFile.read(file).isMarked, "after \(moment)")
    }
  }
}
