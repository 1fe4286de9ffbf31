import Testing
import VitrineSimulation

@testable import Vitrine

/// The second format on a disk that is full or fails.
@Suite struct FormatOnFullDiskTests {
  private static func options(keepsFirstFormat: Bool = false) -> StoreOptions {
    var options = StoreOptions(byteBudget: 16 << 20)
    options.keepsFirstFormat = keepsFirstFormat
    return options
  }

  private func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: Workload.path, options: Self.options(), environment: world.environment)
  }

  @Test(arguments: [false, true]) func aStoreWithoutRoomKeepsTheFirstFormat(_ isClosed: Bool) throws {
    let work = try Workload(options: Self.options(keepsFirstFormat: true))
    for number in 0..<500 { try work.put("k\(number)", Workload.bytes(300, number), synced: number % 50 == 0) }
    try work.store.flush()
    var world = work.world
    if isClosed {
      try work.store.close()
      world = world.rebooted(world.disk.copy())
    } else {
      world = world.rebooted(world.disk.crashStates().diskAfterProcessDeath())
    }
    world.disk.fillUp()
    var store = try open(world)
    #expect(store.statistics().formatVersion == CacheFormat.firstVersion)
    #expect(world.disk.contents("\(Workload.path)/checkpoints/area") == nil)
    for number in 0..<500 { #expect(store.bytes("k\(number)") == Workload.bytes(300, number)) }
    try store.checkpoint()
    try store.close()
    world = world.rebooted(world.disk.copy())
    world.disk.setCapacity(1 << 30)
    store = try open(world)
    #expect(store.statistics().formatVersion == CacheFormat.version)
    for number in 0..<500 { #expect(store.bytes("k\(number)") == Workload.bytes(300, number)) }
    #expect(Accounts.check(store) == nil)
    try store.close()
  }

  @Test func aFullDiskDelaysTheSavingOfUses() throws {
    var options = StoreOptions(byteBudget: 16 << 20)
    options.smallBase = 100
    let work = try Workload(options: options)
    for number in 0..<200 { try work.put("k\(number)", Workload.bytes(300, number)) }
    try work.store.checkpoint()
    work.world.disk.fillUp(refusingNewNames: false)
    #expect(work.store.bytes("k7") != nil)
    work.world.clock.advance(milliseconds: 60_000)
    work.upkeep()
    let path = "\(Workload.path)/checkpoints/uses"
    #expect(work.world.disk.contents(path) == nil && Accounts.check(work.store) == nil)
    work.world.disk.setCapacity(1 << 30)
    work.world.clock.advance(milliseconds: 60_000)
    work.upkeep()
    #expect(work.world.disk.contents(path) != nil && Accounts.check(work.store) == nil)
    #expect(work.store.probe.savedUses == work.store.probe.recencyCount)
    try work.store.close()
  }

  /// Power is lost after each operation of the opening that converts the store, and of the next checkpoint. After that
  /// checkpoint, no root of the first format is left.
  @Test func powerLossDuringConversionKeepsAllEntries() throws {
    let work = try Workload(options: Self.options(keepsFirstFormat: true))
    for number in 0..<300 { try work.put("k\(number)", Workload.bytes(100, number)) }
    try work.store.close()
    let world = work.world.rebooted(work.world.disk.copy())
    let first = world.disk.operationCount
    let store = try open(world)
    try store.checkpoint()
    store.abandon()
    var versions: Set<UInt32> = []
    for count in first...world.disk.operationCount {
      for choice in [CrashPolicy.everythingLost, .everythingKept] {
        let cut = world.rebooted(world.disk.crashStates(after: count).disk(choice))
        let again = try open(cut)
        #expect(again.statistics().lastOpen.kind != .rebuilt, "after \(count)")
        #expect(again.statistics().formatVersion == CacheFormat.version, "after \(count)")
        #expect(again.count == 300 && again.bytes("k7") == Workload.bytes(100, 7), "after \(count)")
        #expect(Accounts.check(again) == nil, "after \(count)")
        versions.insert(again.statistics().formatVersion)
        again.abandon()
      }
    }
    #expect(versions == [CacheFormat.version])
  }
}
