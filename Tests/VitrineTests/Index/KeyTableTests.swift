import Testing

@testable import Vitrine

@Suite struct KeyTableTests {
  /// The expected content of the table: entries of each hash by location.
  private struct Model {
    var entries: [KeyHash: Set<UInt64>] = [:]
    var count: Int { entries.values.reduce(0) { $0 + $1.count } }
  }

  private func all(_ table: KeyTable) -> [KeyHash: Set<UInt64>] {
    var found: [KeyHash: Set<UInt64>] = [:]
    for shard in 0..<KeyTable.shardCount {
      for slot in table.copy(shard: shard) {
        #expect(found[slot.hash(shard: shard), default: []].insert(slot.location.bits).inserted)
      }
    }
    return found
  }

  /// `urlTags` is the range of the tags: crowded at the table's end they wrap around to its front.
  @Test(arguments: RandomRuns.seeds([1, 2, 3]), [0..<1 << 32, (1 << 32 - 40)..<1 << 32, 0..<12])
  func randomChangesMatchADictionary(_ seed: UInt64, _ urlTags: Range<Int>) {
    var random = SeededRandom(seed: seed)
    var tableWriter = KeyTableWriter()
    let table = tableWriter.table
    var model = Model()
    var known: [(KeyHash, UInt64)] = []
    for step in 0..<6000 {
      let shard = UInt64(random.below(2))
      let tag = UInt64(urlTags.lowerBound + random.below(min(urlTags.count, 1 << 30)))
      let hash = KeyHash(bits: shard << 58 | tag << 26 | UInt64(random.below(3)))
      let location = Location(bits: UInt64(step + 1))
      let old = known.isEmpty ? nil : known.indices.randomElement(using: &random)
      switch random.below(10) {
      case 0..<(step < 3000 ? 6 : 3):
        #expect(tableWriter.insert(KeySlot(hash, location, []), hash) == true)
        model.entries[hash, default: []].insert(location.bits)
        known.append((hash, location.bits))
      case 5 where step >= 3000:
        guard let old else { continue }
        // Some of one URL's entries.
        let url = known[old].0
        let chosen = known.indices.filter { known[$0].0.ofURL == url.ofURL && random.chance(60) }
        for index in chosen.reversed() {
          let (hash, bits) = known.remove(at: index)
          #expect(tableWriter.remove(hash, Location(bits: bits)) == true)
          model.entries[hash]?.remove(bits)
          if model.entries[hash] == [] { model.entries[hash] = nil }
        }
      case 6, 7, 8, 3, 4:
        guard let old else { continue }
        let (hash, bits) = known.remove(at: old)
        #expect(tableWriter.remove(hash, Location(bits: bits)) == true)
        #expect(tableWriter.remove(hash, Location(bits: bits)) == false)
        model.entries[hash]?.remove(bits)
        if model.entries[hash] == [] { model.entries[hash] = nil }
      default:
        guard let old else { continue }
        let (hash, bits) = known[old]
        #expect(tableWriter.replace(hash, Location(bits: bits), with: KeySlot(hash, location, [.reference])) == true)
        #expect(!table.find(hash, Location(bits: bits)))
        model.entries[hash]?.remove(bits)
        model.entries[hash]?.insert(location.bits)
        known[old].1 = location.bits
      }
      if step % 500 == 499 {
        #expect(all(table) == model.entries, "\(RandomRuns.repeating(seed, "KeyTable"))")
      }
    }
    for (hash, locations) in model.entries {
      var found: Set<UInt64> = []
      var passed = PassedEntries()
      while let slot = table.find(hash, besides: passed, { $0 }) {
        #expect(found.insert(slot.location.bits).inserted)
        passed.add(slot.location)
      }
      #expect(found == locations)
    }
  }

  @Test(arguments: [200, RandomRuns.isSanitized ? 2000 : 20_000])
  func allStylesOfAURLAreFoundAndRemovedOneByOne(_ count: Int) {
    var tableWriter = KeyTableWriter()
    let table = tableWriter.table
    let url: UInt64 = 0xABCD_EF01_2345_0000
    for style in 0..<count {
      let hash = KeyHash(url: url, styleTag: UInt16(truncatingIfNeeded: style))
      #expect(tableWriter.insert(KeySlot(hash, Location(bits: UInt64(style + 1)), []), hash) == true)
    }
    let stranger = KeyHash(url: url &+ 0x1_0000_0000, styleTag: 1)
    #expect(tableWriter.insert(KeySlot(stranger, Location(bits: 1 << 30), []), stranger) == true)
    var found: [(KeySlot, KeyHash)] = []
    table.forEachStyle(KeyHash(url: url, styleTag: 0)) { found.append(($0, $1)) }
    #expect(Set(found.map(\.0.location.bits)) == Set(1...UInt64(count)))
    for (slot, hash) in found.reversed().prefix(500) { #expect(tableWriter.remove(hash, slot.location) == true) }
    var left = 0
    table.forEachStyle(KeyHash(url: url, styleTag: 0)) { _, _ in left += 1 }
    #expect(left == max(0, count - 500))
    #expect(table.find(stranger, Location(bits: 1 << 30)))
  }

  @Test func lookupFindsOnlyItsOwnTags() {
    var tableWriter = KeyTableWriter()
    let table = tableWriter.table
    let hash = KeyHash(url: 0x1234_5678_9ABC_0000, styleTag: 7)
    #expect(table.find(hash, counts: true) { $0.location.bits } == nil)
    #expect(tableWriter.insert(KeySlot(hash, Location(bits: 77), [.reference]), hash) == true)
    #expect(table.find(hash, counts: true) { $0.location.bits } == 77)
    var passed = PassedEntries()
    passed.add(Location(bits: 77))
    #expect(table.find(hash, besides: passed) { $0.location.bits } == nil)
    #expect(
      table.find(KeyHash(url: 0x1234_5678_9ABC_0000, styleTag: 8), counts: false) { $0.location.bits } == nil)
    #expect(table.lookups == (hits: 1, misses: 1))
    table.correctHitToMiss(hash)
    #expect(table.lookups == (hits: 0, misses: 2))
    table.setChecked(hash, Location(bits: 77))
    #expect(table.find(hash, counts: false) { $0.flags } == [.reference, .checked])
    #expect(table.copy(shard: hash.shard).first?.kept.flags == [.reference])
    let expiring = KeySlot(hash, Location(bits: 78), [.expires, .checked])
    #expect(expiring.kept.flags == [.expires])
  }

  @Test func removingEverythingLeavesAnEmptyTableThatCanBeFilledAgain() {
    var tableWriter = KeyTableWriter()
    let table = tableWriter.table
    for round in 0..<2 {
      for index in 0..<5000 {
        let hash = KeyHash(bits: UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
        #expect(tableWriter.insert(KeySlot(hash, Location(bits: UInt64(index + 1)), []), hash) == true)
      }
      #expect((0..<64).reduce(0) { $0 + table.count(shard: $1) } == 5000, "round \(round)")
      tableWriter.removeAll()
      #expect(all(table).isEmpty)
    }
  }

  /// Two URLs with hundreds of styles each in one shard, and changes of all kinds.
  @Test(arguments: RandomRuns.seeds([4, 5]))
  func crowdedURLsMatchADictionary(_ seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var tableWriter = KeyTableWriter()
    var table = tableWriter.table
    var model: [Location: (hash: KeyHash, stamp: UInt32)] = [:]
    var known: [Location] = []
    let urls = (0..<3).map { UInt64(7) << 58 | UInt64($0 * 40) << 26 }
    for step in 0..<12_000 {
      let location = Location(bits: UInt64(step + 1))
      known.append(location)
      // The location of this step names no entry yet.
      let old = random.chance(60) ? known[random.below(known.count)] : location
      guard let entry = model[old] else {
        if old != location {
          known.removeAll { $0 == old }
          continue
        }
        // The last URL has few.
        let hash = KeyHash(
          bits: urls[random.below(random.chance(5) ? 3 : 2)] | UInt64(random.below(step < 6000 ? 300 : 3)))
        let before = table.lastChange(hash)
        #expect(tableWriter.insert(KeySlot(hash, location, []), hash) == true)
        #expect(before == nil || table.lastChange(hash) != before)
        model[location] = (hash, 0)
        continue
      }
      let before = table.lastChange(entry.hash)
      switch random.below(8) {
      case 0:
        #expect(tableWriter.move(entry.hash, from: old, to: location) == true)
        model[location] = entry
        model[old] = nil
        #expect(before == nil || table.lastChange(entry.hash) != before)
      case 1:
        var slot = KeySlot(entry.hash, location, [])
        slot.stamp = entry.stamp
        #expect(tableWriter.replace(entry.hash, old, with: slot) == true)
        model[location] = entry
        model[old] = nil
        #expect(before == nil || table.lastChange(entry.hash) != before)
      case 2:
        table.touch(entry.hash, old)
        model[old]?.stamp = table.clock.now
        #expect(table.location(of: entry.hash, stamp: table.clock.now) == old && table.lastChange(entry.hash) == before)
      case 3:
        table.setChecked(entry.hash, old)
        #expect(table.withEntry(entry.hash, old) { $0.flags.contains(.checked) } == true)
      case 4 where random.chance(3):
        // Copies the table as a checkpoint writes and reads it.
        let otherWriter = KeyTableWriter()
        for shard in 0..<KeyTable.shardCount {
          var entries = table.copy(shard: shard)[...]
          #expect(otherWriter.fill(shard: shard, count: entries.count) { entries.popFirst() } == true)
        }
        otherWriter.table.clock.set(table.clock.count)
        table = otherWriter.table
        tableWriter = otherWriter
      case 5 where random.chance(3):
        let otherWriter = KeyTableWriter()
        otherWriter.exchange(with: tableWriter)
        table = otherWriter.table
        tableWriter = otherWriter
      case 6 where random.chance(2):
        let gone = known.filter { model[$0]?.hash.ofURL == entry.hash.ofURL && random.chance(70) }
        for location in gone {
          #expect(model[location].map { tableWriter.remove($0.hash, location) } == true)
          model[location] = nil
        }
      default:
        #expect(tableWriter.remove(entry.hash, old) == true && !table.find(entry.hash, old))
        model[old] = nil
      }
      if step % 1000 == 999 {
        let repeating = RandomRuns.repeating(seed, "KeyTable")
        let found = table.copy(shard: 7)
        #expect(found.count == model.count && table.count(shard: 7) == model.count, "\(repeating)")
        for slot in found { #expect(model[slot.location]?.hash == slot.hash(shard: 7), "\(repeating)") }
        for (location, entry) in model { #expect(table.find(entry.hash, location), "\(repeating)") }
        for url in urls {
          let hash = KeyHash(bits: url)
          let styles = model.filter { $0.value.hash.ofURL == hash.ofURL }
          var seen: Set<Location> = []
          table.forEachStyle(hash) { slot, _ in seen.insert(slot.location) }
          #expect(seen == Set(styles.keys), "\(repeating)")
          #expect(table.styleCount(hash, without: 1) == styles.values.count { $0.hash.bits & 0xFFFF != 1 })
        }
      }
    }
    tableWriter.relocate { slot, _ in (Location(bits: slot.location.bits + 1 << 20), []) }
    for (location, entry) in model { #expect(table.find(entry.hash, Location(bits: location.bits + 1 << 20))) }
    tableWriter.removeAll()
    #expect(table.count(shard: 7) == 0 && table.lastChange(KeyHash(bits: urls[0])) == nil)
  }

  /// The number of a crowded URL's last change counts only changes of entries that an original may outdate.
  @Test func independentEntriesAreNoChange() {
    var tableWriter = KeyTableWriter()
    let table = tableWriter.table
    func hash(_ style: Int) -> KeyHash { KeyHash(url: 7 << 40, styleTag: UInt16(style)) }
    func slot(_ style: Int, _ flags: KeySlot.Flags = .independent, at place: Int? = nil) -> KeySlot {
      KeySlot(hash(style), Location(bits: UInt64(place ?? style) + 1), flags)
    }
    func dependents() -> Set<UInt16> {
      var found: Set<UInt16> = []
      table.forEachDependentStyle(hash(0)) { _, hash in found.insert(hash.styleTag) }
      return found
    }
    for style in 0..<100 {
      #expect(tableWriter.insert(slot(style, style == 40 ? [] : .independent), hash(style)) == true)
    }
    let first = table.lastChange(hash(0))
    #expect(first != nil && dependents() == [40])
    #expect(tableWriter.insert(slot(100), hash(100)) == true && table.lastChange(hash(0)) == first)
    table.setIndependent(hash(40), slot(40).location)
    #expect(dependents() == [] && table.lastChange(hash(0)) == first)
    table.noteIndependence(hash(0), since: first ?? 0)
    #expect(table.lastChange(hash(0)) == nil)
    // A moved entry stays independent. Its replacement may depend on the original again.
    #expect(tableWriter.move(hash(50), from: slot(50).location, to: slot(0, at: 500).location) == true)
    #expect(table.lastChange(hash(0)) == nil)
    #expect(tableWriter.replace(hash(51), slot(51).location, with: slot(51, [], at: 501)) == true)
    let second = table.lastChange(hash(0))
    #expect(second != nil && second != first && dependents() == [51])
    // A look that began before the change does not prove independence.
    table.noteIndependence(hash(0), since: first ?? 0)
    #expect(table.lastChange(hash(0)) == second)
  }

  /// A URL with very many styles slows neither its own lookups nor those of other URLs. The table is filled by inserts
  /// or at once.
  @Test func aLookupPassesFewEntriesBesideAHundredThousandStyles() {
    let count = RandomRuns.isSanitized ? 20_000 : 100_000
    var random = SeededRandom(seed: 8)
    var tableWriter = KeyTableWriter()
    let table = tableWriter.table
    let crowded = random.next()
    for style in 0..<count {
      let hash = KeyHash(url: crowded, styleTag: UInt16(random.below(1 << 16)))
      #expect(tableWriter.insert(KeySlot(hash, Location(bits: UInt64(style + 1)), []), hash) == true)
    }
    // In its shard.
    var others: [KeyHash] = []
    for index in 0..<1000 {
      let hash = KeyHash(bits: (crowded & (~0 << 58)) | (random.next() >> 6))
      #expect(tableWriter.insert(KeySlot(hash, Location(bits: UInt64(count + index + 1)), []), hash) == true)
      others.append(hash)
    }
    let filledWriter = KeyTableWriter()
    let filled = filledWriter.table
    for shard in 0..<KeyTable.shardCount {
      var entries = table.copy(shard: shard)[...]
      #expect(filledWriter.fill(shard: shard, count: entries.count) { entries.popFirst() } == true)
    }
    for table in [table, filled] {
      let own = (0..<1000).map { _ in
        table.probeLength(KeyHash(url: crowded, styleTag: UInt16(random.below(1 << 16))))
      }
      #expect(own.reduce(0, +) / own.count < 512 && own.max()! < 2000)
      let beside = others.map { table.probeLength($0) }
      #expect(beside.reduce(0, +) / beside.count < 256 && beside.max()! < 1100)
    }
  }
}
