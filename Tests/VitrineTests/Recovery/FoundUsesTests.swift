import Testing
import VitrineSimulation

@testable import Vitrine

/// The file of uses as an opening reads it: long, ended early, with blocks that cannot be read.
@Suite struct FoundUsesTests {
  private static let store = StoreID(low: 3, high: 4)
  private static let keyCount = 5000
  /// Blocks for several calls, with more uses than are noted together.
  private static let blockCount = 150

  /// The blocks by their places, in another order than that of their clocks.
  private let blocks: [[UInt8]]
  private let clock: UInt64

  init() {
    var random = SeededRandom(seed: 12)
    var clock = UInt64(Self.keyCount)
    var blocks = (0..<Self.blockCount).map { number in
      let uses = (0..<UseBlock.mostUses).map { _ in
        clock += 1
        return KeyUse(Self.hash(random.below(Self.keyCount)), uses: random.below(4), stamp: clock)
      }
      return UseBlock(number: UInt64(number), clock: clock, sequence: 1, time: Int64(number), uses: uses)
        .encoded(store: Self.store)
    }
    for place in blocks.indices { blocks.swapAt(place, place + random.below(blocks.count - place)) }
    self.blocks = blocks
    self.clock = clock
  }

  private static func hash(_ number: Int) -> KeyHash {
    KeyHash(bits: UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15).stored
  }

  private static func block(_ bytes: [UInt8]) -> UseBlock? {
    bytes.withUnsafeBytes { UseBlock($0, store: store) }
  }

  /// The last use of each key in the blocks.
  private static func lastUses(_ blocks: [[UInt8]]) -> [KeyHash: KeyUse] {
    var last: [KeyHash: KeyUse] = [:]
    for block in blocks.compactMap(block) {
      for use in block.uses where use.stamp > last[use.hash]?.stamp ?? 0 { last[use.hash] = use }
    }
    return last
  }

  private static func file(_ content: [UInt8]) throws -> any File {
    try MemoryDisk(["uses": content]).openDirectory("", create: false).openFile("uses", .readOnly)
  }

  /// A file on a disk whose calls may fail.
  private func fallibleFile() throws -> (disk: SimulatedDisk, file: any File) {
    let disk = SimulatedDisk()
    let file = try disk.openDirectory("", create: true).openFile("uses", .create)
    try file.write(blocks.flatMap { $0 }, at: 0)
    return (disk, file)
  }

  /// Plans that the next long read fails, and then the read of the single block at `place`.
  private static func planFailure(_ disk: SimulatedDisk, ofBlock place: Int) {
    for occurrence in [1, 2 + place] {
      disk.plan(Fault(.read, occurrence: occurrence, .fail(ErrorCode.inputOutput)))
    }
  }

  /// The bytes that an opening takes for the length of the file.
  private var byteCount: Int { blocks.count * UseBlock.byteCount }

  /// Reads the heads of the file, then notes its uses in a table of all keys, and compares the results with the blocks
  /// that can be read.
  /// - Parameters:
  ///   - heads: The blocks by their places in the first reading; empty ones cannot be read.
  ///   - uses: The blocks in the second reading.
  private func expect(
    _ file: any File, heads: [[UInt8]], uses: [[UInt8]], betweenTheReadings body: () -> Void = {}
  ) throws {
    let found = FoundUses(file, byteCount: byteCount, store: Self.store)
    let newest = heads.enumerated().compactMap { place, bytes in Self.block(bytes).map { (place, $0.number) } }
      .max { $0.1 < $1.1 }
    #expect(found.newest?.place == newest?.0 && found.newest?.number == newest?.1)
    body()

    var writer = KeyTableWriter()
    for number in 0..<Self.keyCount {
      var slot = KeySlot(Self.hash(number), Location(slot: 1, offset: 64 * (number + 2)), [])
      slot.stamp = UInt32(number)
      let isEntered = writer.insert(slot, Self.hash(number))
      #expect(isEntered)
    }
    writer.table.clock.set(UInt64(Self.keyCount))
    found.note(in: writer.table, times: nil, after: 0)
    #expect(writer.table.clock.count <= clock)
    let expected = Self.lastUses(uses)
    for number in 0..<Self.keyCount {
      let use = writer.table.use(of: Self.hash(number), at: writer.table.clock.count)
      let meant = expected[Self.hash(number)]
      #expect(use?.stamp == meant?.stamp ?? UInt64(number), "\(number)")
      if let meant { #expect(use?.uses == meant.uses) }
    }
  }

  @Test func eachEntryGetsItsLastUse() throws {
    try expect(try Self.file(blocks.flatMap { $0 }), heads: blocks, uses: blocks)
  }

  /// Cut since its length was read: within a block, between two blocks, to nothing.
  @Test(arguments: [0, 4096 * 10, 4096 * 70 + 100, 4096 * 149 + 4095])
  func fileEndsEarly(_ length: Int) throws {
    let kept = Array(blocks.prefix(length / UseBlock.byteCount))
    try expect(try Self.file(Array(blocks.flatMap { $0 }.prefix(length))), heads: kept, uses: kept)
  }

  @Test func damagedBlocksAreLeftOut() throws {
    var damaged = blocks
    for place in stride(from: 5, to: damaged.count, by: 31) { damaged[place][100] ^= 1 }
    try expect(try Self.file(damaged.flatMap { $0 }), heads: damaged, uses: damaged)
  }

  /// The newest block cannot be read at first.
  @Test func headThatCannotBeReadIsLeftOut() throws {
    // The first long read covers 64 blocks.
    let numbers = blocks.prefix(64).map { Self.block($0)?.number ?? 0 }
    let place = try #require(numbers.indices.max { numbers[$0] < numbers[$1] })
    let (disk, file) = try fallibleFile()
    Self.planFailure(disk, ofBlock: place)
    var readable = blocks
    readable[place] = []
    // A block behind the clock of the last head is left out with it.
    let last = try #require(readable.compactMap(Self.block).map(\.clock).max())
    try expect(file, heads: readable, uses: blocks.filter { Self.block($0)?.clock ?? 0 <= last })
    #expect(disk.strikeCount == 2)
  }

  /// A long read fails in the second reading, and then the read of a single block.
  @Test func blockThatCannotBeReadIsLeftOut() throws {
    let (disk, file) = try fallibleFile()
    var readable = blocks
    readable[5] = []
    try expect(file, heads: blocks, uses: readable) { Self.planFailure(disk, ofBlock: 5) }
    #expect(disk.strikeCount == 2)
  }

  @Test func fileThatCannotBeReadHasNoUses() throws {
    let (disk, file) = try fallibleFile()
    let fault = Fault(.read, isLasting: true, .fail(ErrorCode.inputOutput))
    try expect(file, heads: blocks, uses: []) { disk.plan(fault) }
    try expect(file, heads: [], uses: [])
  }
}
