import Testing

@testable import Vitrine

/// The file of uses: its blocks, and what they tell a later opening about the order of the entries.
@Suite struct UseRingTests {
  private static let store = StoreID(low: 7, high: 9)

  private static func hash(_ number: Int) -> KeyHash {
    KeyHash(bits: UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15).stored
  }

  // MARK: Blocks

  @Test func aBlockKeepsItsUsesInTheirOrder() throws {
    var random = SeededRandom(seed: 4)
    for count in [0, 1, 17, UseBlock.mostUses] {
      var stamp: UInt64 = 1 << 33
      let uses = (0..<count).map { number in
        stamp += UInt64(1 + random.below(number % 50 == 0 ? 100_000 : 3))
        return KeyUse(Self.hash(number), uses: number % 4, stamp: stamp)
      }
      let block = UseBlock(number: 5, clock: stamp + 3, sequence: 12, time: 1_700_000_000_000, uses: uses)
      let bytes = block.encoded(store: Self.store)
      #expect(bytes.count == UseBlock.byteCount)
      let read = try #require(bytes.withUnsafeBytes { UseBlock($0, store: Self.store) })
      #expect((read.number, read.clock, read.sequence, read.time) == (5, stamp + 3, 12, 1_700_000_000_000))
      #expect(read.uses.map(\.hash) == uses.map(\.hash) && read.uses.map(\.uses) == uses.map(\.uses))
      for (found, use) in zip(read.uses, uses) {
        let (age, told) = (block.clock - use.stamp, block.clock - found.stamp)
        #expect(told <= age && age - told <= age / 8, "\(age) \(told)")
      }
      #expect(zip(read.uses, read.uses.dropFirst()).allSatisfy { $0.stamp < $1.stamp })
    }
  }

  @Test func agesAreRoundedDownToFourBits() {
    var before = -1
    var ages = (0..<5000).map { UInt64($0) }
    for bit in 12..<34 { ages += [1 << bit, 1 << bit + 1, 3 << (bit - 1)] as [UInt64] }
    for age in ages.sorted() {
      let code = UseBlock.short(age: age)
      #expect(Int(code) >= before)
      let told = UseBlock.age(ofShort: code)
      #expect(told <= age && age - told <= age / 8, "\(age) \(told)")
      if age < 16 { #expect(told == age) }
      before = Int(code)
    }
    #expect(UseBlock.age(ofShort: UseBlock.short(age: .max)) == 15 << 30)
  }

  @Test func changedOrForeignBlockIsRejected() throws {
    let uses = (0..<100).map { KeyUse(Self.hash($0), uses: 1, stamp: UInt64(100 + $0)) }
    let block = UseBlock(number: 5, clock: 300, sequence: 12, time: 1, uses: uses)
    let bytes = block.encoded(store: Self.store)
    #expect(bytes.withUnsafeBytes { UseBlock($0, store: StoreID(low: 7, high: 8)) } == nil)
    for index in stride(from: 0, to: bytes.count, by: 13) {
      var changed = bytes
      changed[index] ^= 0x20
      #expect(changed.withUnsafeBytes { UseBlock($0, store: Self.store) } == nil, "\(index)")
    }
    for short in [0, 8, 48, 4095] {
      #expect(bytes.prefix(short).withUnsafeBytes { UseBlock($0, store: Self.store) } == nil)
    }
  }

  /// A block with a right checksum may hold any words.
  @Test func anyWordsInABlockAreHarmless() throws {
    var random = SeededRandom(seed: 8)
    for _ in 0..<2000 {
      let clock = random.chance(50) ? UInt64(random.below(100)) : UInt64(1) << UInt64(random.below(62))
      let count = random.below(UseBlock.mostUses)
      let uses = (0..<count).map { _ in
        KeyUse(KeyHash(bits: random.next()).stored, uses: random.below(4), stamp: random.next())
      }
      let block = UseBlock(
        number: 1, clock: clock, sequence: random.next(), time: Int64(truncatingIfNeeded: random.next()), uses: uses)
      let read = try #require(block.encoded(store: Self.store).withUnsafeBytes { UseBlock($0, store: Self.store) })
      #expect(read.uses.allSatisfy { $0.stamp <= clock })
    }
  }

  // MARK: The ring

  /// A key table whose entries are used, a ring on a disk, and the table of a later opening.
  private struct Model: ~Copyable {
    let disk = MemoryDisk(["uses": []])
    var writer = KeyTableWriter()
    let count: Int
    var saved: UInt64 = 0
    var most = UseRing.leastBlocks
    var ring: UseRing?
    var random: SeededRandom
    /// The stamps at the beginning, which pieces have.
    var first: [UInt32] = []

    init(count: Int, seed: UInt64) {
      self.count = count
      random = SeededRandom(seed: seed)
      for number in 0..<count { first.append(enter(number, writer.table.clock.tick())) }
      saved = writer.table.clock.count
    }

    mutating func enter(_ number: Int, _ stamp: UInt32) -> UInt32 {
      var slot = KeySlot(UseRingTests.hash(number), Location(slot: 1, offset: 64 * (number + 2)), [])
      slot.stamp = stamp
      let isEntered = writer.insert(slot, UseRingTests.hash(number))
      #expect(isEntered)
      return stamp
    }

    func file() throws -> any File { try disk.openDirectory("", create: false).openFile("uses", .readWrite) }

    mutating func touch(_ number: Int) {
      let hash = UseRingTests.hash(number)
      writer.table.touch(hash, Location(slot: 1, offset: 64 * (number + 2)))
    }

    mutating func save() throws -> Int {
      let keys = writer.table
      let clock = keys.clock.count
      let uses = (0..<KeyTable.shardCount).flatMap { keys.uses(shard: $0, after: saved, at: clock) }
        .sorted { $0.stamp < $1.stamp }
      if ring == nil {
        try file().allocate(byteCount: UseRing.leastBlocks * UseBlock.byteCount)
        ring = UseRing(try file(), store: UseRingTests.store, blockCount: UseRing.leastBlocks, found: nil)
      }
      let (file, most) = (try file(), most)
      let moment = UseRing.Moment(clock: clock, sequence: 1, time: 0)
      let written = try ring!.append(
        uses, at: moment, last: { keys.use(of: $0, at: clock) },
        grow: { wanted in
          let wanted = min(wanted, most)
          try? file.allocate(byteCount: wanted * UseBlock.byteCount)
          return wanted
        })
      saved = clock
      return written
    }

    /// The stamps by key that a later opening finds.
    func reopened() throws -> [UInt64] {
      var other = KeyTableWriter()
      for number in 0..<count {
        var slot = KeySlot(UseRingTests.hash(number), Location(slot: 1, offset: 64 * (number + 2)), [])
        slot.stamp = first[number]
        let isEntered = other.insert(slot, UseRingTests.hash(number))
        #expect(isEntered)
      }
      other.table.clock.set(UInt64(count))
      let file = try file()
      let found = FoundUses(file, byteCount: try file.status().byteCount, store: UseRingTests.store)
      found.note(in: other.table, times: nil, after: 0)
      return (0..<count).map { number in
        other.table.use(of: UseRingTests.hash(number), at: other.table.clock.count)?.stamp ?? 0
      }
    }

    var exact: [UInt64] {
      (0..<count).map { writer.table.use(of: UseRingTests.hash($0), at: writer.table.clock.count)?.stamp ?? 0 }
    }
  }

  /// Few keys used again and again, many keys used once, and mixtures of both.
  @Test(arguments: RandomRuns.seeds([1, 2, 3]), [(20, 20), (3000, 3000), (3000, 40), (20_000, 20_000)])
  func aLaterOpeningKnowsEachLastUse(_ seed: UInt64, _ shape: (count: Int, used: Int)) throws {
    var model = Model(count: shape.count, seed: seed)
    model.most = UseRing.mostBlocks(keys: shape.count)
    for round in 0..<60 {
      let uses = 1 + model.random.below(model.random.chance(20) ? 3000 : 100)
      for _ in 0..<uses {
        model.touch(model.random.below(model.random.chance(70) ? shape.used : min(30, shape.used)))
      }
      _ = try model.save()
      guard round % 15 == 14 else { continue }
      let (exact, found) = (model.exact, try model.reopened())
      let clock = model.writer.table.clock.count
      for number in exact.indices {
        let age = clock - exact[number]
        let difference = found[number] > exact[number] ? found[number] - exact[number] : exact[number] - found[number]
        #expect(difference <= age / 8 + 1, "key \(number), age \(age): \(difference)")
      }
    }
    #expect(try model.file().status().byteCount <= model.most * UseBlock.byteCount)
  }

  @Test func aFewKeysUsedAgainAndAgainTakeOneBlock() throws {
    var model = Model(count: 400, seed: 1)
    for _ in 0..<200 {
      for _ in 0..<50 { model.touch(model.random.below(400)) }
      #expect(try model.save() == UseBlock.byteCount)
    }
    #expect(try model.file().status().byteCount == UseRing.leastBlocks * UseBlock.byteCount)
  }

  /// On a full disk, or in a full budget.
  @Test func aFileThatCannotGrowKeepsTheLatestUses() throws {
    var model = Model(count: 5000, seed: 2)
    for _ in 0..<30 {
      for _ in 0..<700 { model.touch(model.random.below(5000)) }
      #expect(try model.save() <= 12 * UseBlock.byteCount)
    }
    for number in 0..<200 { model.touch(number) }
    _ = try model.save()
    let (exact, found) = (model.exact, try model.reopened())
    let order = (0..<200).sorted { found[$0] < found[$1] }
    #expect(order == Array(0..<200))
    #expect((0..<200).allSatisfy { found[$0] == exact[$0] || exact[$0] + 16 <= model.writer.table.clock.count })
  }

  @Test func aDamagedBlockCostsOnlyItsUses() throws {
    var model = Model(count: 3000, seed: 3)
    model.most = UseRing.mostBlocks(keys: 3000)
    for number in 0..<3000 { model.touch(number) }
    _ = try model.save()
    let file = try model.file()
    try file.write([UInt8](repeating: 0x55, count: UseBlock.byteCount), at: UseBlock.byteCount)
    let (exact, found) = (model.exact, try model.reopened())
    let lost = (0..<3000).count { found[$0] == UInt64(model.first[$0]) }
    #expect(lost == UseBlock.mostUses)
    #expect((0..<3000).count { found[$0] >= exact[$0] } == 3000 - lost)
  }
}
