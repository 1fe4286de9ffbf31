import Testing

@testable import Vitrine

@Suite struct KeyTableTests {
  /// What the table should hold: entries of each hash by location.
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

  /// `urlTags` says how the tags lie: crowded at the table's end they wrap around to its front.
  @Test(arguments: RandomRuns.seeds([1, 2, 3]), [0..<1 << 32, (1 << 32 - 40)..<1 << 32, 0..<12])
  func randomChangesGiveWhatADictionaryGives(_ seed: UInt64, _ urlTags: Range<Int>) {
    var random = SeededRandom(seed: seed)
    let table = KeyTable()
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
        #expect(table.insert(KeySlot(hash, location, []), hash))
        model.entries[hash, default: []].insert(location.bits)
        known.append((hash, location.bits))
      case 5 where step >= 3000:
        guard let old else { continue }
        // Some of one URL's entries, in one pass.
        let url = known[old].0
        let chosen = known.indices.filter { known[$0].0.isSameURL(url) && random.chance(60) }
        let locations = Set(chosen.map { Location(bits: known[$0].1) })
        #expect(table.removeStyles(of: url, at: locations) == chosen.count)
        for index in chosen.reversed() {
          let (hash, bits) = known.remove(at: index)
          model.entries[hash]?.remove(bits)
          if model.entries[hash] == [] { model.entries[hash] = nil }
        }
      case 6, 7, 8, 3, 4:
        guard let old else { continue }
        let (hash, bits) = known.remove(at: old)
        #expect(table.remove(hash, Location(bits: bits)))
        #expect(!table.remove(hash, Location(bits: bits)))
        model.entries[hash]?.remove(bits)
        if model.entries[hash] == [] { model.entries[hash] = nil }
      default:
        guard let old else { continue }
        let (hash, bits) = known[old]
        #expect(table.replace(hash, Location(bits: bits), with: KeySlot(hash, location, [.reference])))
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
      while let slot = table.find(hash, skip: found.count, counts: false, { $0 }) {
        found.insert(slot.location.bits)
      }
      #expect(found == locations)
    }
  }

  @Test(arguments: [200, RandomRuns.isSanitized ? 2000 : 20_000])
  func allStylesOfAURLAreFoundAndGoOneByOne(_ count: Int) {
    let table = KeyTable()
    let url: UInt64 = 0xABCD_EF01_2345_0000
    for style in 0..<count {
      let hash = KeyHash(url: url, styleTag: UInt16(truncatingIfNeeded: style))
      #expect(table.insert(KeySlot(hash, Location(bits: UInt64(style + 1)), []), hash))
    }
    let stranger = KeyHash(url: url &+ 0x1_0000_0000, styleTag: 1)
    #expect(table.insert(KeySlot(stranger, Location(bits: 1 << 30), []), stranger))
    var found: [(KeySlot, KeyHash)] = []
    table.forEachStyle(KeyHash(url: url, styleTag: 0)) { found.append(($0, $1)) }
    #expect(Set(found.map(\.0.location.bits)) == Set(1...UInt64(count)))
    for (slot, hash) in found.reversed().prefix(500) { #expect(table.remove(hash, slot.location)) }
    var left = 0
    table.forEachStyle(KeyHash(url: url, styleTag: 0)) { _, _ in left += 1 }
    #expect(left == max(0, count - 500))
    #expect(table.find(stranger, Location(bits: 1 << 30)))
  }

  @Test func aLookupMeetsOnlyItsOwnTags() {
    let table = KeyTable()
    let hash = KeyHash(url: 0x1234_5678_9ABC_0000, styleTag: 7)
    #expect(table.find(hash, counts: true) { $0.location.bits } == nil)
    #expect(table.insert(KeySlot(hash, Location(bits: 77), [.reference]), hash))
    #expect(table.find(hash, counts: true) { $0.location.bits } == 77)
    #expect(table.find(hash, skip: 1, counts: false) { $0.location.bits } == nil)
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
    let table = KeyTable()
    for round in 0..<2 {
      for index in 0..<5000 {
        let hash = KeyHash(bits: UInt64(index) &* 0x9E37_79B9_7F4A_7C15)
        #expect(table.insert(KeySlot(hash, Location(bits: UInt64(index + 1)), []), hash))
      }
      #expect((0..<64).reduce(0) { $0 + table.count(shard: $1) } == 5000, "round \(round)")
      table.removeAll()
      #expect(all(table).isEmpty)
    }
  }
}
