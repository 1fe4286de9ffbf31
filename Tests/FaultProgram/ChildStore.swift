import Vitrine

private final class Thing: Sendable {}

/// A forked child that uses a store of its own, while the threads of the parent's engine exist in the parent alone.
struct ChildStore {
  /// Static, as all values of this kind are: their objects are never released.
  private static let things = PerProcess { Thing() }

  let folder: String

  func run() throws {
    makeThingsOfItsOwn()
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 64 << 20))
    // A burst, so that threads of the engine wait for work at the fork.
    for key in 0..<2000 { try store.put(value(key, 500), for: "\(key)") }
    inChild { do { try useOwnStore() } catch { fail("the child failed: \(error)") } }
    try store.close()
  }

  /// Before the process takes a lock of a store.
  private func makeThingsOfItsOwn() {
    let things = ChildStore.things
    let thing = things.current
    inChild {
      expect(things.current !== thing, "a child shares the objects of its parent")
      expect(things.current === things.current, "a child makes its objects twice")
    }
    expect(things.current === thing, "a child has changed the objects of its parent")
  }

  private func useOwnStore() throws {
    let store = try CacheStore.open(at: folder + "-child", options: StoreOptions(byteBudget: 64 << 20))
    for key in 0..<5000 { try store.put(value(key, 900), for: "\(key)") }
    for key in 0..<5000 {
      let isThere = store.get("\(key)") { span in span.withUnsafeBytes { $0.elementsEqual(value(key, 900)) } }
      expect(isThere == true, "the value of \(key) is missing or wrong")
    }
    // Stops the upkeep.
    try store.close()
  }
}
