import Testing

@testable import Vitrine

/// One random run of a store beside the model.
final class ModelRun {
  private var store: CacheStore
  private var model = ModelStore()
  private var values: RandomValues
  private var world: TestWorld
  private var path: String
  private let seed: UInt64
  private let options: StoreOptions
  /// The place where the next opening finds the state after the death of the process at this moment.
  private let survivor: (ModelRun) throws -> (TestWorld, String)
  private var step = 0
  private var doing = "opening"
  private var evictedCount = 0
  /// Blobs of any age, and the bytes that they must return as long as they exist.
  private var blobs: [(blob: Blob, value: [UInt8])] = []

  init(
    seed: UInt64, world: TestWorld, path: String, options: StoreOptions,
    survivor: @escaping (ModelRun) throws -> (TestWorld, String)
  ) throws {
    self.seed = seed
    self.world = world
    self.path = path
    self.options = options
    self.survivor = survivor
    values = RandomValues(
      random: SeededRandom(seed: seed), segmentByteCount: options.segmentByteCount ?? 65_536)
    values.hasEqualTags = seed % 3 == 2 && options.entryBudget == nil
    store = try world.open(path, options)
    model.asks = { [unowned self] in self.store.contains($0) }
    model.maximumAge = options.maximumAgeMilliseconds ?? 0
  }

  var currentPath: String { path }
  private var now: Int64 { world.clock.wallMilliseconds() }
  private var comment: Comment { "step \(step), \(doing); \(RandomRuns.repeating(seed, "ModelTests"))" }

  func run(steps: Int) throws {
    while step < steps {
      step += 1
      world.clock.advance(Int64(values.random.below(200)))
      do {
        try change()
        try noteEvictions()
      } catch StoreError.noSpace {
        try noteEvictions()
        try makeRoom()
      }
      try compareOne(values.key(), asksForASource: true)
      // A repeated run is one that failed: find the step.
      if step % 100 == 0 || RandomRuns.repeatedSeed != nil { try compareAll() }
    }
    try compareAll()
    try store.close()
    #expect(storeError { try store.flush() } == .closed, comment)
    store = try world.open(path, StoreOptions(reads: options.reads))
    #expect(store.statistics().lastOpen.kind == .clean, comment)
    model.forgetExpired(butFor: keptKeys(), at: now)
    try compareAll()
    try store.close()
  }

  // MARK: Evictions

  /// Entries evicted since the last call must be in order.
  private func noteEvictions() throws {
    let count = store.statistics().evictedCount
    let hasExpired = store.probe.keyCount != model.entries.count
    guard count != evictedCount || hasExpired else { return }
    let kept = keptKeys()
    model.forgetExpired(butFor: kept, at: now)
    guard count != evictedCount else { return }
    evictedCount = count
    let isInOrder = model.evict(butFor: kept)
    #expect(isInOrder, comment)
  }

  /// The keys of the index, including expired entries that are not removed yet.
  private func keptKeys() -> Set<CacheKey> {
    var keys: Set<CacheKey> = []
    store.probe.steps.forEachRecord(includesExpired: true) { keys.insert($0.key) }
    return keys
  }

  /// Returns whether entries are evicted or removed as expired meanwhile.
  private func evicts(_ body: () throws -> Void) rethrows -> Bool {
    let before = (store.statistics().evictedCount, expiredCount)
    try body()
    return store.statistics().evictedCount != before.0 || expiredCount < before.1
  }

  private var expiredCount: Int { store.probe.keyCount - store.count }

  // MARK: Changes

  private func change() throws {
    let choice = values.random.below(100)
    doing = "choice \(choice)"
    switch choice {
    case 0..<45: try put()
    case 45..<52: try write()
    case 52..<60:
      let key = values.key()
      #expect(try store.remove(key, durability: durability()) == (model.remove([key]) == 1), comment)
    case 60..<63:
      let keys = (0..<values.random.below(12)).map { _ in values.key() }
      #expect(try store.removeMany(keys, durability: durability()) == model.remove(keys), comment)
    case 63..<66:
      let url = values.key().url
      #expect(try store.removeAllStyles(bytes: url) == model.remove { key, _ in key.url == url }, comment)
    case 66..<74:
      let key = values.key()
      let metadata = text(values.random.below(500), values.random.below(5))
      let durability = durability()
      let expected = model.live(key, at: now) != nil
      // The entry itself may have to be evicted for its new record.
      var isSet = false
      let hasEvicted = try evicts { isSet = try store.setMetadata(metadata, for: key, durability: durability) }
      #expect(isSet == expected || hasEvicted, comment)
      if isSet { _ = model.setMetadata(metadata, key, at: now) }
    case 74..<80:
      let key = values.key()
      let expiration = values.random.chance(50) ? nil : now + Int64(values.random.below(10_000))
      let expected = model.live(key, at: now) != nil
      var isSet = false
      let hasEvicted = try evicts { isSet = try store.setExpiration(expiration, for: key) }
      #expect(isSet == expected || hasEvicted, comment)
      if isSet { _ = model.setExpiration(expiration, key, at: now) }
    case 80..<82: try upkeep()
    case 82..<83: try compact()
    case 83..<86: try store.flush()
    case 86..<89: try store.checkpoint()
    case 89..<92:
      try store.close()
      try reopen(in: world, path)
    case 92..<96:
      let (other, path) = try survivor(self)
      other.clock.advance(now - other.clock.wallMilliseconds())
      try store.close()
      try reopen(in: other, path)
      try noteEvictions()
      model.crash(at: now, order: try store.keysByRecency())
      try compareAll()
    default: try removeSome()
    }
  }

  private func durability() -> Durability? { values.random.chance(20) ? .synced : nil }

  private func put() throws {
    let key = values.key()
    let (value, layout) = values.value()
    let options = values.options(layout, at: now)
    let way = values.random.below(layout == nil ? 3 : 4)
    let hasEvicted = try evicts {
      switch way {
      case 0: try store.put(value.span.bytes, for: key, options: options)
      case 3: try draw(value, key, options)
      default: try write(value, key, options, isLengthKnown: way == 1)
      }
    }
    model.put(value, key, options, at: now)
    if hasEvicted { adoptSource(key, options) }
  }

  /// The original may have been evicted for the style made from it, before or after that.
  private func adoptSource(_ key: CacheKey, _ options: PutOptions) {
    if case .automatic = options.source, case .found(let info) = store.lookup(key) {
      model.setSource(info.source, of: key)
    }
  }

  /// In pieces of any length, with other changes between them; some writers are left unfinished.
  private func write(_ value: [UInt8], _ key: CacheKey, _ options: PutOptions, isLengthKnown: Bool) throws {
    doing += ", in pieces of \(value.count)\(isLengthKnown ? "" : ", unknown")"
    let stalled = try store.writer(for: key, length: isLengthKnown ? value.count : nil, options: options)
    let writer = try store.writer(for: key, length: isLengthKnown ? value.count : nil, options: options)
    var start = 0
    while start < value.count {
      let end = min(value.count, start + values.random.below(max(2, value.count / 2)))
      try writer.write(Array(value[start..<end]))
      if values.random.chance(20) { try stalled.write(Array(value[start..<end])) }
      if values.random.chance(10) { try runUpkeep() }
      if values.random.chance(5) { try store.checkpoint() }
      start = end
    }
    try writer.commit()
  }

  private func draw(_ value: [UInt8], _ key: CacheKey, _ options: PutOptions) throws {
    guard let layout = options.layout else { return }
    let rest = values.random.below(value.count)
    struct Broken: Error {}
    #expect(throws: Broken.self) {
      try store.draw(key, layout: layout, options: options) { memory, _ in
        memory.withUnsafeMutableBytes { $0.copyBytes(from: value.reversed()) }
        throw Broken()
      }
    }
    try store.draw(key, layout: layout, options: options) { memory, given in
      #expect(given == layout && memory.byteCount == value.count, comment)
      memory.withUnsafeMutableBytes { bytes in
        #expect(bytes.allSatisfy { $0 == 0 }, comment)
        bytes.copyBytes(from: value.prefix(rest))
      }
      if values.random.chance(20) { try store.checkpoint() }
      memory.withUnsafeMutableBytes { $0.copyBytes(from: value) }
    }
  }

  private func write() throws {
    var batch = WriteBatch()
    var changes: [(CacheKey, [UInt8]?, PutOptions)] = []
    for _ in 0..<values.random.below(15) {
      let key = values.key()
      if values.random.chance(30) {
        batch.remove(key)
        changes.append((key, nil, PutOptions()))
      } else {
        let (value, layout) = values.value()
        let options = values.options(layout, at: now)
        batch.put(value, for: key, options: options)
        changes.append((key, value, options))
      }
    }
    let durability = durability()
    let hasEvicted = try evicts { try store.write(batch, durability: durability) }
    model.write(changes, at: now)
    if hasEvicted { for change in changes { adoptSource(change.0, change.2) } }
  }

  /// A round of upkeep, sometimes after so long a time that it searches for expired entries.
  private func upkeep() throws {
    if values.random.chance(40) { world.clock.advance(61_000) }
    try runUpkeep()
  }

  private func compact() throws {
    if values.random.chance(50) {
      try store.idle { values.random.chance(90) }
    } else {
      let stops = values.random.chance(30)
      let report = try store.compact { _, _ in !stops || values.random.chance(70) }
      #expect(report.recordsDropped == 0 && (stops || !report.isInterrupted), comment)
      // The one spare for copies may not have been there before.
      #expect(report.bytesAfter <= report.bytesBefore + store.probe.segmentByteCount, comment)
    }
    try noteEvictions()
    model.forgetExpired(butFor: keptKeys(), at: now)
  }

  private func runUpkeep() throws {
    world.background.run()
    try noteEvictions()
    model.forgetExpired(butFor: keptKeys(), at: now)
  }

  private func removeSome() throws {
    switch values.random.below(5) {
    case 0:
      let style = values.styles[values.random.below(4)]
      #expect(try store.removeAll(style: style) == model.remove { key, _ in key.style == style }, comment)
    case 1:
      let prefix = Array("https://example.com/\(values.random.below(3))".utf8)
      #expect(
        try store.removeAll(prefix: prefix) == model.remove { key, _ in key.url.starts(with: prefix) },
        comment)
    case 2:
      let limit = values.random.below(5000)
      #expect(
        try store.removeAll { $0.byteCount > limit }
          == model.removeLive(at: now) { _, entry in entry.value.count > limit },
        comment)
    case 3:
      let named = Set((0..<values.random.below(40)).map { _ in values.key().url })
      let prefix = values.random.chance(50) ? "" : "https://example.com/1"
      #expect(
        try store.retain(only: named.map { CacheKey(bytes: $0) }, prefix: prefix)
          == model.remove { key, _ in key.url.starts(with: prefix.utf8) && !named.contains(key.url) }, comment)
    default:
      guard values.random.chance(30) else { return }
      try store.removeAll()
      _ = model.remove { _, _ in true }
    }
  }

  /// The store is full, and no change was made. Removing must work, and free the space.
  private func makeRoom() throws {
    try compareAll()
    try store.removeAll()
    _ = model.remove { _, _ in true }
    try upkeep()
  }

  private func reopen(in world: TestWorld, _ path: String) throws {
    self.world = world
    self.path = path
    let verification: Verification = [.firstRead, .always, .never][values.random.below(3)]
    store = try world.open(path, StoreOptions(verification: verification, reads: options.reads))
    #expect(store.statistics().lastOpen.notes == [], comment)
    evictedCount = 0
  }

  // MARK: Comparison

  private func compareOne(_ key: CacheKey, asksForASource: Bool = false) throws {
    let live = model.live(key, at: now)
    var source: Source?
    if asksForASource, values.random.chance(40) {
      source = values.random.chance(50) ? live?.source : values.namedSource()
    }
    let isOutdated = live != nil && source != nil && live?.source != source
    let expected = isOutdated ? nil : live
    #expect(store.contains(key, source: source) == (expected != nil), comment)
    let lookup = store.lookup(key, source: source)
    try requireSame(store.bytes(key, source: source), expected?.value)
    try retain(key, source, expected?.value)
    if let expected {
      model.use(key, at: now)
      guard case .found(let info) = lookup else {
        Issue.record("\(lookup) instead of an entry: \(comment)")
        return
      }
      #expect(
        info.key == key && info.metadata == expected.metadata && info.layout == expected.layout, comment)
      #expect(info.byteCount == expected.value.count && info.writtenMilliseconds == expected.written, comment)
      #expect(info.expirationMilliseconds == expected.expiration, comment)
      #expect(info.slidingExpirationMilliseconds == expected.sliding, comment)
      #expect(info.source == expected.source && info.hasNamedSource == expected.hasNamedSource, comment)
    } else {
      #expect(lookup == (isOutdated ? .outdated : model.entries[key] == nil ? .missing : .expired), comment)
      if isOutdated, live?.hasNamedSource == true { _ = model.remove([key]) }
    }
  }

  /// Keeps some of the values through all that happens to the store.
  private func retain(_ key: CacheKey, _ source: Source?, _ expected: [UInt8]?) throws {
    guard values.random.chance(30) else { return }
    let blob = store.blob(key, source: source)
    try requireSame(blob.map(Self.bytes), expected)
    #expect(store.statistics().pinnedByteCount <= store.byteBudget / 8, comment)
    guard let blob, let expected else { return }
    blobs.append((blob, expected))
    guard blobs.count > 30 else { return }
    let old = blobs.remove(at: values.random.below(blobs.count))
    try requireSame(Self.bytes(old.blob), old.value)
    #expect(!old.blob.isDamaged, comment)
  }

  private static func bytes(_ blob: Blob) -> [UInt8] { blob.withBytes { $0.withUnsafeBytes { Array($0) } } }

  /// After the first difference all values differ, so the run ends there.
  private func requireSame(_ got: [UInt8]?, _ expected: [UInt8]?) throws {
    try #require(got?.count == expected?.count && got == expected, comment)
  }

  private func compareAll() throws {
    for key in model.entries.keys.sorted() { try compareOne(key) }
    #expect(keptKeys() == Set(model.entries.keys), comment)
    let live = model.entries.keys.filter { model.live($0, at: now) != nil }.sorted()
    #expect(try store.keysInOrder() == live, comment)
    #expect(try Set(store.keysByRecency()) == Set(live), comment)
    #expect(store.count == live.count, comment)
    let report = try store.verify()
    #expect(report.damaged == [] && report.lost == [], comment)
    for (blob, value) in blobs { try requireSame(Self.bytes(blob), value) }
    try StoreAudit(store: store).compare(model, comment)
  }
}
