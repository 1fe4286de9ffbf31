import Vitrine

extension Inspection {
  /// Checks a store with errors on its disk. Entries may be missing, but no get returns wrong bytes, `verify` and gets
  /// agree, and the store continues to work.
  func checkDamaged(_ world: SimulatedWorld) throws {
    let seen = try readOnly(world)
    try judge(seen.contents)
    let usedAtFirst = world.disk.usedByteCount
    let store = try open(world)
    let found = Inspection.contents(store, keys)
    try judge(found)
    let bytes = RecordedStore.bytes(300, 999)
    try store.put(bytes, for: Inspection.extra, options: PutOptions(durability: .synced))
    world.background.runAll()
    let report = try store.verify()
    let last = Inspection.contents(store, keys)
    try judge(last)
    for key in last.keys where report.damaged.contains(where: { $0.key == key }) {
      throw Wrong(text: "verify names \(key.urlText), and a get returns it")
    }
    try expectNothing(Accounts.check(store, besideDamage: true), "beside damage: ")
    try expectInsideBudget(store, world, usedAtFirst)
    try store.close()
    let again = try open(world)
    let now = Inspection.contents(again, keys)
    // A still damaged entry is dropped when it is read.
    try expect(now.allSatisfy { last[$0.key] == $0.value }, "a second opening finds something else")
    try judge(now)
    let kept = again.bytes(Inspection.extra)
    try expect(kept == bytes || kept == nil && seen.hasEvicted(again), "the put after it is gone")
    try again.close()
  }
}
