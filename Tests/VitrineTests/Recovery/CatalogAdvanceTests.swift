import Testing

@testable import Vitrine

/// Many changes made as one step have the same effect as one by one.
@Suite struct CatalogAdvanceTests {
  /// A writer's index, changed step by step, and the changes made since they were last taken.
  private final class Writer {
    struct Entry {
      var location: Location
      let units: Int
      let content: ContentHash
      let byteCount: Int
    }

    struct Payload {
      var location: Location
      let units: Int
      var count: Int
    }

    let index: LoadedIndex
    var pending: [Change] = []
    var entries: [KeyHash: Entry] = [:]
    /// One for each content. The index may choose between equal payloads.
    var payloads: [ContentHash: Payload] = [:]
    private var next = (slot: 0, offset: 4096)
    private var contentNumber: UInt64 = 0
    private var random: SeededRandom
    private var sequence: UInt64 = 0

    static let segmentCount = 40
    static let segmentByteCount = 1 << 16

    init(_ index: LoadedIndex, seed: UInt64) {
      self.index = index
      random = SeededRandom(seed: seed)
    }

    static func index() throws -> LoadedIndex {
      let index = try LoadedIndex.empty()
      for slot in 0..<segmentCount {
        index.apply(
          [
            .segmentMade(slot: slot, id: UInt64(slot + 1), byteCount: segmentByteCount),
            .segmentOpened(slot: slot, stream: .originals, firstSequence: 0),
          ], sequence: 0)
      }
      return index
    }

    private func room(_ units: Int) -> Location {
      if next.offset + units * Unit.byteCount > Writer.segmentByteCount {
        next = ((next.slot + 1) % Writer.segmentCount, 4096)
      }
      defer { next.offset += units * Unit.byteCount }
      return Location(slot: next.slot, offset: next.offset)
    }

    var isFull: Bool { next.slot > Writer.segmentCount - 10 }

    private func make(_ change: Change) {
      sequence += 1
      #expect(index.apply([change], sequence: sequence))
      pending.append(change)
    }

    private func displaced(_ entry: Entry) -> Change.Displaced? {
      payloads[entry.content].map { payload in
        Change.Displaced(
          location: entry.location, headUnits: entry.units, logicalByteCount: entry.byteCount, content: entry.content,
          contentLocation: payload.location, payloadUnits: payload.units)
      }
    }

    private func release(_ entry: Entry) {
      payloads[entry.content]?.count -= 1
      if payloads[entry.content]?.count == 0 { payloads[entry.content] = nil }
    }

    func step() {
      let key = KeyHash(bits: UInt64(random.below(40)) << 58 | UInt64(random.below(3)) << 40 | 7).stored
      switch random.below(100) {
      case 0..<25: put(key, sharing: nil)
      case 25..<50: put(key, sharing: payloads.keys.sorted { $0.bits < $1.bits }.randomElement(using: &random))
      case 50..<65: remove(key)
      default: move()
      }
    }

    private func put(_ key: KeyHash, sharing shared: ContentHash?) {
      let old = entries[key]
      let units = 1 + random.below(4)
      contentNumber += 1
      let content = shared ?? ContentHash(bits: contentNumber &* 0x9E37_79B9_7F4A_7C15).stored
      let payloadUnits = shared == nil ? random.below(9) : 0
      let location = room(units + payloadUnits)
      let gone = old.flatMap(displaced)
      let byteCount = random.below(1000)
      if shared == nil {
        payloads[content] = Payload(location: location, units: payloadUnits, count: 1)
      } else {
        payloads[content]?.count += 1
      }
      let contentLocation = payloads[content]?.location ?? location
      make(
        .put(
          Change.Put(
            hash: key, location: location, headUnits: units, payloadUnits: payloadUnits, logicalByteCount: byteCount,
            content: content, contentLocation: contentLocation, displaced: gone)))
      if let old { release(old) }
      entries[key] = Entry(location: location, units: units, content: content, byteCount: byteCount)
    }

    private func remove(_ key: KeyHash) {
      guard let entry = entries.removeValue(forKey: key), let gone = displaced(entry) else { return }
      make(.remove(key, gone))
      release(entry)
    }

    /// Copies a record with its key, with a payload that other keys use, or with both.
    private func move() {
      let places = Set(entries.values.map(\.location)).union(payloads.values.map(\.location))
      guard let from = places.sorted(by: { $0.bits < $1.bits }).randomElement(using: &random) else { return }
      let key = entries.first { $0.value.location == from }?.key
      let content = payloads.first { $0.value.location == from }?.key
      let headUnits = key.flatMap { entries[$0]?.units } ?? 3
      let payloadUnits = content.flatMap { payloads[$0]?.units } ?? 0
      let to = room(headUnits + payloadUnits)
      make(
        .moved(
          Change.Move(
            from: from, to: to, key: key, content: content, headUnits: headUnits, copiedHeadUnits: headUnits,
            payloadUnits: payloadUnits)))
      if let key { entries[key]?.location = to }
      if let content { payloads[content]?.location = to }
    }
  }

  @Test(arguments: RandomRuns.seeds([1, 2, 3, 4, 5, 6, 7, 8]))
  func manyChangesAsOneStepHaveTheSameEffect(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed &+ 1000)
    let writer = Writer(try Writer.index(), seed: seed)
    let reader = try Writer.index()
    while !writer.isFull {
      for _ in 0..<1 + random.below(random.chance(20) ? 400 : 30) where !writer.isFull { writer.step() }
      #expect(reader.advance(by: writer.pending))
      writer.pending = []
      let (mine, its) = (CatalogState(reader.writer), CatalogState(writer.index.writer))
      try #require(
        mine == its && mine.faults == 0,
        "\(mine.differences(from: its)); \(RandomRuns.repeating(seed, "CatalogAdvanceTests"))")
    }
    #expect(reader.counts.keys == writer.entries.count && reader.counts.blobs == writer.payloads.count)
  }

  /// In an unchecked log, the moves of a payload may form a cycle.
  @Test func moveOfAMissingRecordIsRefusedAndACycleEnds() throws {
    let index = try Writer.index()
    let (a, b) = (Location(slot: 0, offset: 4096), Location(slot: 1, offset: 4096))
    let (key, content) = (KeyHash(bits: 1 << 40), ContentHash(bits: 1 << 40))
    func put(_ location: Location, displacing: Change.Displaced? = nil) -> Change {
      .put(
        Change.Put(
          hash: key, location: location, headUnits: 1, payloadUnits: 1, logicalByteCount: 9, content: content,
          contentLocation: location, displaced: displacing))
    }
    func move(_ from: Location, _ to: Location, key: KeyHash? = nil) -> Change {
      .moved(
        Change.Move(
          from: from, to: to, key: key, content: content, headUnits: 1, copiedHeadUnits: 1, payloadUnits: 1))
    }
    #expect(!index.advance(by: [move(a, b, key: key)]))
    #expect(!index.advance(by: [move(a, Location(slot: 9999, offset: 4096))]))
    #expect(!index.advance(by: [put(a), move(a, Location(slot: 1, offset: 1 << 20))]))
    let other = try Writer.index()
    #expect(other.advance(by: [put(a)]))
    let gone = Change.Displaced(
      location: a, headUnits: 1, logicalByteCount: 9, content: content, contentLocation: a, payloadUnits: 1)
    _ = other.advance(by: [move(a, b), move(b, a), move(a, b), .remove(key, gone)])
    #expect(other.counts.keys == 0)
  }
}
