import Vitrine

extension Inspection {
  /// Checks beside the usual ones. Each takes time, so they take turns, and most inspections after an interrupted
  /// recovery have none.
  package struct Extras: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static let recoversTwice = Extras(rawValue: 64)
    package static let compacts = Extras(rawValue: 2)
    /// Changes that may have been lost are repeated before upkeep has checked the records of the crash, and the
    /// power is lost again.
    package static let repeatsFirst = Extras(rawValue: 1)
    /// Metadata are changed before anything is read.
    package static let changesFirst = Extras(rawValue: 8)
    /// An overwrite in the recovered store is newer than everything else, also for a rebuild from the segments.
    package static let rebuilds = Extras(rawValue: 16)
    /// Everything is verified before upkeep has checked the records of the crash.
    package static let verifiesFirst = Extras(rawValue: 32)
    /// Readers with every other verification mode find the same.
    package static let verifiesAnyhow = Extras(rawValue: 128)
    /// The disk has no room at all until the end of the check.
    package static let opensFull = Extras(rawValue: 256)
    /// Damage is planted after recovery and close.
    package static let damages = Extras(rawValue: 512)
    /// The extras for each state that a crash leaves.
    static let always: Extras = [.verifiesAnyhow, .recoversTwice, .compacts]
    /// One of these in turn, so that no state takes too long.
    static let each: [Extras] = [.verifiesFirst, .changesFirst, .rebuilds, .repeatsFirst, .opensFull, .damages]

    /// An opening may report problems, and after a fault the accounts may be too high.
    package static let mayComplain = Extras(rawValue: 4)
  }

  /// Checks that the verification mode of a store does not change the results of its gets.
  func readAnyhow(_ world: SimulatedWorld, _ seen: Seen) throws {
    for verification in [Verification.firstRead, .always, .never] where verification != self.verification {
      let reader = try open(world, readOnly: true, verification)
      try expect(Inspection.contents(reader, keys) == seen.contents, "checked \(verification), it has something else")
      try reader.close()
    }
  }

  /// Checks that an opening finds the same if the process died after an earlier recovery.
  func recoverTwice(_ world: SimulatedWorld, _ seen: Seen) throws {
    try open(world).abandon()
    let store = try open(world)
    let evicted = isAfterFault ? seen.evictions(store) : 0
    try expectUnchanged(seen.contents, store, evictedCount: evicted, "recovered twice")
    if keys.allSatisfy({ store.lookup($0) != .expired }) { try expectAccounts(store, world, "recovered twice: ") }
    store.abandon()
  }

  /// Checks that an opening needs no room, nor does a removal, and that the store works as before once there is room.
  func openFull(_ world: SimulatedWorld, _ seen: Seen) throws {
    func full(_ world: SimulatedWorld) throws -> CacheStore {
      world.disk.fillUp(refusingNewNames: seen.contents.count % 2 == 0)
      return try open(world)
    }
    let store = try full(world)
    let evicted = isAfterFault ? seen.evictions(store) : 0
    try expectUnchanged(seen.contents, store, evictedCount: evicted, "opened on a full disk")
    var left = seen.contents
    if let key = keys.sorted().first(where: { store.contains($0) }) {
      try expect(try store.remove(key, durability: .synced), "an entry cannot be removed on a full disk")
      left[key] = nil
    }
    let last = world.rebooted(world.disk.crashStates().disk(.everythingLost))
    let again = try full(last)
    try expectUnchanged(
      left, again, evictedCount: max(evicted, seen.evictions(again)), "behind a removal on a full disk")
    last.disk.giveRoom()
    try again.put([1], for: Inspection.extra)
    try expect(again.bytes(Inspection.extra) == [1], "a put, with room again, is missing")
    last.background.runAll()
    try expectUnchanged(left, again, evictedCount: seen.evictions(again), "when there is room again")
    try expectNoMisuse(last)
  }

  /// Damages the closed store, and checks that exactly the damaged entries are missing and reported.
  func damage(_ world: SimulatedWorld) throws {
    let damage = PlantedDamage(number: 1 + world.disk.operationCount)
    if case .wrong(let text) = try damage.look(world, history, seed: UInt64(world.disk.operationCount)) {
      throw Wrong(text: "recovered, closed and damaged: \(text)")
    }
  }

  /// Checks that `verify` reports no damage after a crash, and reports no entry as lost that a get returns.
  func verifyFirst(_ world: SimulatedWorld, _ seen: Seen) throws {
    for isReadOnly in [true, false] {
      let store = try open(world, readOnly: isReadOnly)
      let report = try store.verify()
      let mayComplain = extras.contains(.mayComplain)
      try expect(report.damaged.isEmpty || mayComplain, "verified first, a crash counts as damage: \(report.damaged)")
      for key in report.lost.compactMap(\.key) where seen.contents[key] != nil {
        throw Wrong(text: "verified first, \(key.urlText) is lost, and a get returns it")
      }
      if isReadOnly { try store.close() } else { store.abandon() }
    }
  }

  /// Checks that an acknowledged change of metadata has changed an existing entry, and survives a loss of power.
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
      try expect(Inspection.content(again, key) == expected, "\(key.urlText) differs after a change of metadata")
    }
    try expectNoMisuse(last)
  }

  /// Checks that no sequence number is used twice: for a rebuild, records written now are newer than all that a crash
  /// has left.
  func rebuild(_ world: SimulatedWorld, _ seen: Seen) throws {
    let store = try open(world)
    let news = keys.sorted().prefix(6).enumerated().map { ($1, Content(RecordedStore.bytes(200 + $0, 4000 + $0))) }
    for (key, content) in news {
      // Without a source, so that no entry is removed with an original among them.
      var options = content.options
      options.durability = .synced
      try store.put(content.bytes, for: key, options: options)
    }
    let evicted = seen.evictions(store)
    try store.flush()
    store.abandon()
    RecordedStore.loseIndex(world.disk)
    let again = try open(world)
    var missing = 0
    for (key, content) in news {
      let found = Inspection.content(again, key)
      if found == content { continue }
      missing += 1
      let name = found.map { "\($0.bytes.count) bytes" } ?? "nothing"
      try expect(
        found == nil && missing <= max(evicted, seen.evictions(again)),
        "after a rebuild, \(key.urlText) is not the last value, but \(name)")
    }
  }

  /// Repeats changes that the crash may have taken, beside records that no check has covered yet. Checks that a second
  /// loss of power takes unsynced changes and nothing else.
  func repeatFirst(_ world: SimulatedWorld, _ seen: Seen) throws {
    let store = try open(world)
    let made = try repeatInterruptedChanges(store)
    let evicted = seen.evictions(store)
    let durableCount = (made.lastIndex { $0.isSynced } ?? -1) + 1
    var allowed = seen.contents.mapValues { [Optional($0)] }
    // Styles made from another original than the stored one are removed with it.
    var originals: Set<String> = []
    for (number, step) in made.enumerated() {
      for change in step.changes {
        switch change {
        case .put(let key, let content):
          if key.style == .original { originals.insert(key.urlText) }
          // The log keeps the order: changes before a synced one are durable too, except unsynced payloads.
          let before = number < durableCount ? [] : allowed[key] ?? [nil]
          allowed[key] = before + (step.isSynced ? [content] : [content, nil])
        case .remove(let key):
          allowed[key] = number < durableCount ? [nil] : (allowed[key] ?? []) + [nil]
        case .removeAll:
          allowed = number < durableCount ? [:] : allowed.mapValues { $0 + [nil] }
        }
      }
    }
    let states = world.disk.crashStates()
    let seed = UInt64(states.operationCount)
    for policy in [CrashPolicy.everythingLost, .everythingKept, .mixture(seed: seed), .moments(seed: seed)] {
      let last = world.rebooted(states.disk(policy))
      let again = try open(last)
      let mayMiss = max(evicted, seen.evictions(again))
      var missing = 0
      for key in keys.union(allowed.keys) {
        let now = Inspection.content(again, key)
        if allowed[key, default: [nil]].contains(now) { continue }
        let hasExpired = allowed[key]?.allSatisfy { $0?.hasExpired(at: history.now) ?? true } ?? false
        if now == nil, hasExpired || key.style != .original && originals.contains(key.urlText) { continue }
        if now == nil { missing += 1 }
        if now == nil, missing <= mayMiss { continue }
        throw Wrong(
          text: "repeated at once, and the power lost again (\(policy)), \(key.urlText) \(key.style) has "
            + (now.map { "\($0.bytes.count) other bytes" } ?? "nothing"))
      }
      try expectNoMisuse(last)
    }
  }
}
