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
    /// Everything is verified before upkeep has looked at what the crash left.
    package static let verifiesFirst = Extras(rawValue: 32)
    /// One after the other, so that no state is looked at for too long.
    static let each: [Extras] = [.recoversTwice, .verifiesFirst, .compacts, .changesFirst, .rebuilds]

    /// An opening may have something to tell.
    package static let mayComplain = Extras(rawValue: 4)
  }

  func recoverTwice(_ world: SimulatedWorld, _ seen: Seen) throws {
    for time in ["once", "twice"] {
      let store = try open(world)
      try expect(Inspection.contents(store, keys) == seen.contents, "recovered \(time), the store has something else")
      store.abandon()
    }
  }

  /// What a loss of power took is lost, and not damaged; of what is there nothing is either.
  func verifyFirst(_ world: SimulatedWorld, _ seen: Seen) throws {
    for isReadOnly in [true, false] {
      let store = try open(world, readOnly: isReadOnly)
      let report = try store.verify()
      let mayComplain = extras.contains(.mayComplain)
      try expect(report.damaged.isEmpty || mayComplain, "verified first, a crash counts as damage: \(report.damaged)")
      for key in report.lost.compactMap(\.key) where seen.contents[key] != nil {
        throw Wrong(text: "verified first, \(key.urlText) is lost, and a get gives it")
      }
      if isReadOnly { try store.close() } else { store.abandon() }
    }
  }

  /// A change that is acknowledged is one of an entry that is there.
  func changeFirst(_ world: SimulatedWorld, _ seen: Seen) throws {
    let store = try open(world)
    for key in keys.sorted().prefix(8) {
      let hasChanged = try store.setMetadata([9], for: key, durability: .synced)
      // The change itself needs room.
      if seen.hasEvicted(store) { return }
      try expect(hasChanged == (seen.contents[key] != nil), "metadata of \(key.urlText) changed: \(hasChanged)")
    }
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try open(last)
    for key in keys.sorted().prefix(8) {
      var expected = seen.contents[key]
      expected?.metadata = [9]
      try expect(Inspection.content(again, key) == expected, "\(key.urlText) is not what its metadata was changed of")
    }
    try expectNoMisuse(last)
  }

  /// No number is given twice: records written now are newer than all that a crash has left lying about.
  func rebuild(_ world: SimulatedWorld, _ seen: Seen) throws {
    let store = try open(world)
    let news = keys.sorted().prefix(6).enumerated().map { ($1, Content(RecordedStore.bytes(200 + $0, 4000 + $0))) }
    for (key, content) in news {
      // Made from nothing, so that none goes with an original among them.
      var options = content.options
      options.durability = .synced
      try store.put(content.bytes, for: key, options: options)
    }
    let isWhole = !seen.hasEvicted(store)
    try store.flush()
    store.abandon()
    RecordedStore.loseIndex(world.disk)
    let again = try open(world)
    for (key, content) in news {
      let found = Inspection.content(again, key)
      let name = found.map { "\($0.bytes.count) bytes" } ?? "nothing"
      try expect(
        found == content || found == nil && !(isWhole && !seen.hasEvicted(again)),
        "built anew, \(key.urlText) is not what was put last, but \(name)")
    }
  }
}
