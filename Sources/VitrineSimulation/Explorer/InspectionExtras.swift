import Vitrine

extension Inspection {
  /// What is not looked at in every state.
  package struct Extras: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    /// The process dies behind a recovery: the next one finds the same.
    package static let recoversTwice = Extras(rawValue: 1)
    package static let compacts = Extras(rawValue: 2)
    /// Metadata are changed before anything is read.
    package static let changesFirst = Extras(rawValue: 8)
    /// What is overwritten in the recovered store is newer than all else, also where only the segments tell of it.
    package static let rebuilds = Extras(rawValue: 16)
    /// One after the other, so that no state is looked at for too long.
    static let each: [Extras] = [.recoversTwice, [], .compacts, .changesFirst, .rebuilds]

    /// An opening may have something to tell.
    package static let mayComplain = Extras(rawValue: 4)
  }

  func recoverTwice(_ world: SimulatedWorld, _ seen: [CacheKey: Content]) throws {
    for time in ["once", "twice"] {
      let store = try open(world)
      try expect(Inspection.contents(store, keys) == seen, "recovered \(time), the store has something else")
      store.abandon()
    }
  }

  /// A change that is acknowledged is one of an entry that is there.
  func changeFirst(_ world: SimulatedWorld, _ seen: [CacheKey: Content]) throws {
    let store = try open(world)
    for key in keys.sorted().prefix(8) {
      let hasChanged = try store.setMetadata([9], for: key, durability: .synced)
      // The change itself needs room.
      if store.statistics().evictedCount > 0 { return }
      try expect(hasChanged == (seen[key] != nil), "metadata of \(key.urlText) changed: \(hasChanged)")
    }
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try open(last)
    for key in keys.sorted().prefix(8) {
      let expected = seen[key].map { Content($0.bytes, metadata: [9]) }
      try expect(Inspection.content(again, key) == expected, "\(key.urlText) is not what its metadata was changed of")
    }
  }

  /// No number is given twice: records written now are newer than all that a crash has left lying about.
  func rebuild(_ world: SimulatedWorld) throws {
    let store = try open(world)
    let news = keys.sorted().prefix(6).enumerated().map { ($1, Content(RecordedStore.bytes(200 + $0, 4000 + $0))) }
    for (key, content) in news { try store.put(content.bytes, for: key, options: PutOptions(durability: .synced)) }
    let isWhole = store.statistics().evictedCount == 0
    try store.flush()
    store.abandon()
    RecordedStore.loseIndex(world.disk)
    let again = try open(world)
    for (key, content) in news {
      let found = Inspection.content(again, key)
      let name = found.map { "\($0.bytes.count) bytes" } ?? "nothing"
      try expect(
        found == content || found == nil && !isWhole,
        "built anew, \(key.urlText) is not what was put last, but \(name)")
    }
  }
}
