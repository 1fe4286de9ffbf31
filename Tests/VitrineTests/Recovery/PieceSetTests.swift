import Testing
import VitrineSimulation

@testable import Vitrine

/// The pieces of the second format: any history of changes and checkpoints leaves the index that memory has.
@Suite struct PieceSetTests {
  /// The content of both tables.
  struct Content: Equatable {
    struct Entry: Hashable {
      let shard: Int
      let word0, word1: UInt64
      var location: Location { KeySlot(word0: word0, word1: word1).location }
    }
    struct Payload: Hashable {
      let hash: ContentHash
      let location: Location
    }
    var entries: Set<Entry> = []
    var payloads: [Payload: Int] = [:]

    init(_ index: borrowing CatalogWriter) {
      let catalog = index.catalog
      for shard in 0..<64 {
        for slot in catalog.keys.copy(shard: shard) {
          entries.insert(Entry(shard: shard, word0: slot.kept.word0, word1: slot.kept.word1))
        }
        catalog.contents.forEach(shard: shard) { word in
          let location = ContentTable.location(ofWord: word)
          let payload = Payload(hash: ContentTable.hash(ofWord: word, shard: shard), location: location)
          let isWide = ContentTable.hasLargeCount(word)
          payloads[payload] = isWide ? catalog.contents.largeCount(location) : Int(word >> 38 & 3)
        }
      }
    }
  }

  private static func emptyIndex() throws -> CatalogWriter {
    guard let index = CatalogWriter(identity: StoreIdentityFormatTests.identity) else {
      throw SystemError(code: SystemError.noMemory, operation: "allocate", path: "index")
    }
    return index
  }

  /// An index in memory, its pieces, and the states that its two roots have.
  private struct Model: ~Copyable {
    static let journalLimit = 4096
    var index: CatalogWriter
    var pieces: PieceSet
    let disk: MemoryDisk
    var roots: [(pieces: [Piece], content: Content)?] = [nil, nil]
    var newest = 1
    var keys: [(hash: KeyHash, location: Location)] = []
    var payloads: [(hash: ContentHash, location: Location)] = []
    var random: SeededRandom
    var freed: [Location] = []
    var nextLocation: UInt64 = 64
    var (writtenBlocks, factWords, republished) = (0, 0, 0)

    static func make(seed: UInt64) throws -> Model {
      let disk = MemoryDisk(["area": []])
      let area = try disk.openDirectory("", create: false).openFile("area", .readWrite)
      let pieces = PieceSet(store: StoreID(low: 1, high: 2), area: area, blockCount: 12, opening: 5)
      var index = try PieceSetTests.emptyIndex()
      index.beginJournal()
      return Model(index: index, pieces: pieces, disk: disk, random: SeededRandom(seed: seed))
    }

    private init(index: consuming CatalogWriter, pieces: PieceSet, disk: MemoryDisk, random: SeededRandom) {
      self.index = index
      self.pieces = pieces
      self.disk = disk
      self.random = random
    }

    mutating func takeLocation() -> Location {
      // Now and then the place of a removed record is used again.
      if random.chance(20), let freed = freed.popLast() {
        if !payloads.contains(where: { $0.location == freed }) { return freed }
      }
      nextLocation += 1
      return Location(bits: nextLocation)
    }

    mutating func change(growing: Int) {
      switch random.below(100) {
      case ..<growing: put()
      case ..<(growing + (100 - growing) / 2):
        if let place = randomKey() { remove(place) }
      case 97: movePayload()
      case 98: goAndComeBack()
      default:
        if let place = randomKey() { replaceOrMove(place) }
      }
    }

    private mutating func randomKey() -> Int? { keys.isEmpty ? nil : random.below(keys.count) }

    private mutating func put() {
      let hash = KeyHash(bits: random.next()).stored
      let location = takeLocation()
      if index.keys.find(hash, location) { return }
      var slot = KeySlot(hash, location, random.chance(20) ? [.expires, .checked] : [])
      slot.stamp = 0 &- UInt32(random.below(1 << 31))
      #expect(index.keyWriter.insert(slot, hash) == true)
      keys.append((hash, location))
      if !payloads.isEmpty, random.chance(20), let shared = payloads.randomElement(using: &random) {
        #expect(index.contentWriter.retain(shared.hash, shared.location) == true)
        payloads.append(shared)
      } else {
        let content = ContentHash(bits: random.next() & ~(1 << 34 - 1))
        #expect(index.contentWriter.insert(content, location, count: 1) == true)
        payloads.append((content, location))
      }
    }

    private mutating func remove(_ place: Int) {
      let key = keys.remove(at: place)
      if freed.count < 50 { freed.append(key.location) }
      #expect(index.keyWriter.remove(key.hash, key.location) == true)
      let payload = payloads.remove(at: random.below(payloads.count))
      if random.chance(3) {
        index.contentWriter.removeEntirely(payload.hash, payload.location)
        payloads.removeAll { $0.hash == payload.hash && $0.location == payload.location }
      } else {
        #expect(index.contentWriter.release(payload.hash, payload.location) != nil)
      }
      while payloads.count < keys.count { addPayload() }
    }

    private mutating func addPayload() {
      let (content, location) = (ContentHash(bits: random.next() & ~(1 << 34 - 1)), takeLocation())
      #expect(index.contentWriter.insert(content, location) == true)
      payloads.append((content, location))
    }

    private mutating func replaceOrMove(_ place: Int) {
      let (hash, location) = (keys[place].hash, takeLocation())
      if index.keys.find(hash, location) { return }
      if random.chance(50) {
        #expect(index.keyWriter.move(hash, from: keys[place].location, to: location) == true)
      } else {
        var slot = KeySlot(hash, location, [.pinned])
        slot.stamp = 0 &- UInt32(random.below(1 << 31))
        #expect(index.keyWriter.replace(hash, keys[place].location, with: slot) == true)
      }
      keys[place].location = location
    }

    /// The place of an entry is used again, for the same key.
    private mutating func goAndComeBack() {
      guard let place = randomKey() else { return }
      let (hash, location) = keys[place]
      #expect(index.keyWriter.remove(hash, location) == true)
      if random.chance(30) { _ = try? checkpoint() }
      var slot = KeySlot(hash, location, [])
      slot.stamp = 0 &- UInt32(random.below(1 << 31))
      #expect(index.keyWriter.insert(slot, hash) == true)
    }

    private mutating func movePayload() {
      guard let payload = payloads.randomElement(using: &random) else { return }
      let copy = takeLocation()
      if index.contents.has(payload.hash, copy) { return }
      #expect(index.contentWriter.move(payload.hash, from: payload.location, to: copy) == true)
      for place in payloads.indices where payloads[place] == payload { payloads[place].location = copy }
    }

    mutating func removeAll() {
      index.keyWriter.removeAll()
      index.contentWriter.removeAll()
      keys = []
      payloads = []
    }

    /// Writes a checkpoint as the engine does, into the older root. Some attempts end before the root.
    mutating func checkpoint() throws {
      factWords += index.journalWords
      let needed = PiecePlan.blockCount(base: index.shardWords().reduce(0, +), journal: Model.journalLimit)
      if needed > pieces.blockCount { pieces.grow(to: needed + needed / 4) }
      guard let draft = IndexDraft.take(from: &index, pieces) else {
        Issue.record("the area has too few blocks")
        return
      }
      if !pieces.hasRoom(for: draft) {
        // The newest root is published once more, in place of the older one.
        roots[1 - newest] = roots[newest]
        newest = 1 - newest
        pieces.note(roots[newest]?.pieces ?? [], owed: pieces.owed, root: newest, isNewest: true)
        republished += 1
      }
      #expect(pieces.hasRoom(for: draft))
      let attempt = try pieces.write(draft)
      if random.chance(10) {
        draft.putBack(into: &index)
        pieces.abandon()
        return
      }
      writtenBlocks += attempt.byteCount / Piece.blockByteCount
      newest = 1 - newest
      pieces.publish(attempt, root: newest)
      roots[newest] = (attempt.pieces, Content(index))
    }

    func check() throws {
      for root in roots {
        guard let root else { continue }
        var loaded = try PieceSetTests.emptyIndex()
        // Older pieces name places that are in no segment any more.
        let live = Set(root.content.entries.map(\.location) + root.content.payloads.keys.map(\.location))
        let loader = PieceLoader(area: pieces.area, store: pieces.store, clock: index.keys.clock.count)
        let isLoaded = loader.fill(&loaded, from: root.pieces, names: live.contains, note: { _ in })
        #expect(isLoaded)
        #expect(Content(loaded) == root.content)
        #expect(loaded.keyCount == root.content.entries.count)
      }
    }
  }

  @Test(arguments: RandomRuns.seeds([1, 2, 3]), [(200, 60), (200, 30), (9000, 75), (9000, 45)])
  func bothRootsHoldTheIndexOfTheirCheckpoint(_ seed: UInt64, _ shape: (steps: Int, growing: Int)) throws {
    var model = try Model.make(seed: seed)
    for round in 0..<20 {
      let steps = 1 + model.random.below(model.random.chance(30) ? 5 : shape.steps)
      for _ in 0..<steps {
        model.change(growing: shape.growing)
        if model.index.journalWords > Model.journalLimit - 64 { try model.checkpoint() }
      }
      if model.random.chance(3) { model.removeAll() }
      try model.checkpoint()
      if round % 4 == 0 { try model.check() }
    }
    try model.checkpoint()
    try model.check()
    let base = model.index.shardWords().reduce(0, +)
    #expect(model.pieces.deltaWords <= PiecePlan.deltaLimit(base: base))
    #expect(model.pieces.list.count <= 110, "\(model.pieces.list.count)")
  }

  /// The place of a removed record takes another one, whose payload is in another shard or has another tag. An older
  /// piece still has the many users of the first one there.
  @Test(arguments: [(5, 3), (3, 5), (4, 4)], [(5, 6), (6, 5), (9, 1), (1, 9)])
  func payloadsAtOnePlaceKeepTheirUsers(_ shards: (old: Int, new: Int), _ counts: (old: Int, new: Int)) throws {
    var model = try Model.make(seed: 4)
    // A small base would be written whole.
    while model.index.shardWords().reduce(0, +) < PiecePlan.smallBase * 5 / 4 {
      model.change(growing: 80)
      if model.index.journalWords > Model.journalLimit - 64 { try model.checkpoint() }
    }
    try model.checkpoint()
    model.nextLocation += 1
    let location = Location(bits: model.nextLocation)
    let old = ContentHash(bits: UInt64(shards.old) << 58 | 9 << 34)
    let new = ContentHash(bits: UInt64(shards.new) << 58 | 7 << 34)
    #expect(model.index.contentWriter.insert(old, location, count: counts.old) == true)
    // A whole base has the old payload, and a delta both changes.
    model.pieces.isToBeCut = true
    try model.checkpoint()
    model.pieces.isToBeCut = false
    #expect(model.pieces.list.allSatisfy { $0.kind == .part })
    model.index.contentWriter.removeEntirely(old, location)
    #expect(model.index.contentWriter.insert(new, location, count: counts.new) == true)
    try model.checkpoint()
    #expect(model.pieces.list.contains { $0.kind == .delta })
    try model.check()
  }

  @Test func damagedOrForeignBlockIsNoPiece() throws {
    var model = try Model.make(seed: 9)
    for _ in 0..<300 { model.change(growing: 70) }
    try model.checkpoint()
    let (pieces, store) = (model.pieces.list, model.pieces.store)
    func isLoaded(_ pieces: [Piece], _ store: StoreID, _ image: MemoryDisk.Image) throws -> Bool {
      let area = try MemoryDisk(image).openDirectory("", create: false).openFile("area", .readOnly)
      var loaded = try Self.emptyIndex()
      let loader = PieceLoader(area: area, store: store, clock: 1)
      return loader.fill(&loaded, from: pieces, names: { _ in true }, note: { _ in })
    }
    let image = model.disk.image
    #expect(try isLoaded(pieces, store, image))
    #expect(try !isLoaded(pieces, StoreID(low: 1, high: 3), image))
    let last = pieces[pieces.count - 1]
    let renamed = Piece(
      number: last.number + 1, kind: last.kind, shards: last.shards, wordCount: last.wordCount, clock: last.clock,
      ranges: last.ranges)
    #expect(try !isLoaded(pieces.dropLast() + [renamed], store, image))
    #expect(try !isLoaded(pieces + [last], store, image))
    for offset in stride(from: 0, to: last.wordCount * 8, by: 97) {
      var damaged = image
      damaged["area"]![last.ranges[0].start * Piece.blockByteCount + offset] ^= 0x10
      #expect(try !isLoaded(pieces, store, damaged), "\(offset)")
    }
  }
}
