import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// A store under operations, with its history. After each operation, the store has the history's content, and its
/// accounts are right.
final class OperationRun {
  private(set) var recorded: RecordedStore
  private(set) var reader: CacheStore?
  private var blobs: [(blob: Blob, bytes: [UInt8])] = []
  var bodies: [(writer: BodyWriter, key: CacheKey, bytes: [UInt8])] = []
  /// No crash is simulated before this operation of the disk, because the clock has advanced since.
  private var firstMoment: Int
  private let mayBeHuge: Bool
  private var operationCount = 0
  private var doing = "opening"

  init(shape: UInt8) throws {
    mayBeHuge = shape & 3 == 3
    recorded = try RecordedStore(
      seed: 3,
      options: StoreOptions(
        byteBudget: (1 << 20) << Int(shape & 3), entryBudget: shape & 4 == 0 ? nil : 9,
        segmentByteCount: shape & 8 == 0 ? nil : 128 << 10, compressionLevel: shape & 16 == 0 ? nil : 0,
        policy: shape & 128 != 0 ? (shape & 32 == 0 ? .s3fifo : .sieve) : shape & 32 == 0 ? .lru : .fifo,
        reads: shape & 64 == 0 ? .mapped : .copied),
      isTolerant: true)
    firstMoment = recorded.firstMoment
  }

  var store: CacheStore { recorded.store }
  var world: SimulatedWorld { recorded.world }
  private var now: Int64 { world.clock.wallMilliseconds() }

  /// More operations would only make a run slower.
  var isLongEnough: Bool { operationCount >= 48 }

  func make(_ operation: Operation, _ input: inout FuzzInput) {
    operationCount += 1
    doing = "\(operationCount) \(operation)"
    do {
      try run(operation, &input)
    } catch let error as StoreError {
      // The history keeps a refused step as one that may have happened. The disk works, so it must cause no error.
      switch error {
      case .writeFailed, .system, .storeRemoved: refute("\(doing): \(error)")
      default: break
      }
    } catch {
      refute("\(doing): \(error)")
    }
    expectTheHistory()
  }

  func end() {
    doing = "the end"
    for (blob, bytes) in blobs { claim(copy(blob) == bytes && !blob.isDamaged, "a Blob has changed") }
    bodies.removeAll()
    always("closing and opening again") { try reopen() }
    settle()
    expectTheHistory()
    claim(always("verify") { try store.verify().isOK }, "verify finds damage")
    always("closing") { try recorded.close() }
    claim(world.disk.misuse.isEmpty, world.disk.misuse.first ?? "")
  }

  // MARK: Checks

  private func expectTheHistory() {
    let found = Inspection.contents(store, OperationValues.keys)
    if let wrong = recorded.history.judge(found, crashedAfter: world.disk.operationCount, powerLost: false) {
      fail(wrong)
    }
    if let wrong = Accounts.check(store) { fail(wrong) }
    claim(store.statistics().bytesOnDisk <= store.statistics().byteBudget, "\(doing): over the budget")
  }

  /// The options may have a smaller budget of entries than the store has by now. Then the opening evicts.
  private func reopen() throws { try recorded.evicting { try recorded.reopen() } }

  /// Excess over the budget, after a crash or an opening with a smaller one, is removed by the first upkeep.
  /// Expired entries are not read: those that only the log has wait for upkeep too.
  private func settle() {
    let isOver = store.statistics().bytesOnDisk > store.statistics().byteBudget
    if isOver || OperationValues.keys.contains(where: { store.lookup($0) == .expired }) { recorded.upkeep() }
  }

  private func fail(_ wrong: String) -> Never {
    refute("\(doing): \(wrong)\n" + recorded.history.story(upTo: .max).joined(separator: "\n"))
  }

  private func copy(_ blob: Blob) -> [UInt8] { blob.withBytes { $0.withUnsafeBytes { Array($0) } } }

  // MARK: Operations

  private func run(_ operation: Operation, _ input: inout FuzzInput) throws {
    switch operation {
    case .put: try put(OperationValues.key(&input), OperationValues.bytes(&input, mayBeHuge: mayBeHuge), &input)
    case .putBitmap:
      let layout = BitmapLayout(width: Int(input.byte()) + 1, height: Int(input.byte()) + 1, format: .rgb565)!
      try put(OperationValues.key(&input), RecordedStore.bytes(layout.byteCount, 3), &input, layout)
    case .draw:
      let rows = Int(input.next(UInt16.self)) % 1200 + 1
      let name = OperationValues.drawn[rows % 2]
      try recorded.draw(name, RecordedStore.bytes(64 * rows, rows), synced: input.flag()) {
        if input.flag() { try put(OperationValues.key(&input), SmallStore.text(700), &input) }
      }
    case .body: try body(&input)
    case .batch: try batch(&input)
    case .get: get(&input)
    case .retain:
      let key = OperationValues.key(&input)
      guard let bytes = store.bytes(key), let blob = store.blob(key) else { return }
      claim(copy(blob) == bytes, "a Blob is another")
      if blobs.count == 6 { blobs.removeFirst() }
      blobs.append((blob, bytes))
    case .setMetadata:
      let key = OperationValues.key(&input)
      let metadata = SmallStore.text(Int(input.byte()) * 16, 8)
      try recorded.setMetadata(key.urlText, style: key.style, metadata, synced: input.flag())
    case .setExpiration:
      let key = OperationValues.key(&input)
      let moment = input.flag() ? OperationValues.moment(&input, after: now) : nil
      guard var content = Inspection.contents(store, [key])[key] else { return }
      content.expiry = moment.map { .at($0) }
      // Repeated, it changes the entry that exists then.
      func again(_ store: CacheStore) throws -> [History.Change] {
        try store.setExpiration(moment, for: key)
        return []
      }
      try recorded.change([.put(key, content)], synced: false, again: again) { _ = try again($0) }
    case .remove, .removeMany, .removeStyles, .removeStyle, .removePrefix, .retainOnly, .removeAll:
      try remove(operation, &input)
    case .setByteBudget: try recorded.setByteBudget((1 << 20) + Int(input.byte()) << 14)
    case .setEntryBudget: try recorded.setEntryBudget(Int(input.byte() & 31))
    case .compact: try recorded.compact()
    case .checkpoint: try recorded.checkpoint()
    case .flush: try recorded.flush()
    case .upkeep: recorded.upkeep()
    case .advanceClock: try advance(Int(input.byte()))
    case .reopen:
      bodies.removeAll()
      let choice = input.byte()
      recorded.options = StoreOptions(
        entryBudget: choice < 128 ? nil : Int(choice & 31),
        verification: [.firstRead, .always, .never][Int(choice % 3)])
      try reopen()
    case .openReader:
      try? reader?.close()
      reader = try CacheStore.open(
        at: RecordedStore.path, options: StoreOptions(isReadOnly: true), environment: world.environment)
      expectTheSame()
    case .refreshReader: if try reader?.refresh() != nil { expectTheSame() }
    case .crash, .lookAtCrash, .killProcess: try crash(operation, &input)
    }
  }

  /// An up-to-date reader sees the writer's content.
  private func expectTheSame() {
    guard let reader else { return }
    let (seen, own) = (
      Inspection.contents(reader, OperationValues.keys), Inspection.contents(store, OperationValues.keys)
    )
    claim(seen == own, "\(doing): a reader sees \(seen.count) entries of \(own.count), or others")
  }

  private func put(
    _ key: CacheKey, _ bytes: [UInt8], _ input: inout FuzzInput, _ layout: BitmapLayout? = nil
  ) throws {
    var options = OperationValues.options(&input, at: now)
    options.layout = layout
    let own = [History.Change.put(key, Content(bytes, options))]
    func again(_ store: CacheStore) throws -> [History.Change] {
      try store.put(bytes, for: key, options: options)
      return own
    }
    try recorded.change(own + outdated([key: bytes]), synced: options.durability == .synced, again: again) {
      _ = try again($0)
    }
  }

  /// The styles that originals with other bytes remove.
  private func outdated(_ puts: [CacheKey: [UInt8]]) -> [History.Change] {
    puts.filter { $0.key.style == .original }.flatMap { original, bytes in
      let source = Source(bytes.withUnsafeBytes { Digest(of: $0) })
      return OperationValues.styles.map { CacheKey(original.urlText, $0) }.filter { key in
        guard puts[key] == nil, case .found(let info) = store.lookup(key) else { return false }
        return info.source != nil && !info.hasNamedSource && info.source != source
      }.map { History.Change.remove($0) }
    }
  }

  private func batch(_ input: inout FuzzInput) throws {
    var batch = WriteBatch()
    var puts: [CacheKey: [UInt8]] = [:]
    var contents: [CacheKey: Content?] = [:]
    for _ in 0..<Int(input.byte() % 12) {
      let key = OperationValues.key(&input)
      if input.byte() % 4 == 0 {
        batch.remove(key)
        puts[key] = nil
        contents[key] = .some(nil)
      } else {
        let bytes = OperationValues.bytes(&input, mayBeHuge: false)
        let options = OperationValues.options(&input, at: now)
        batch.put(bytes, for: key, options: options)
        puts[key] = bytes
        contents[key] = Content(bytes, options)
      }
    }
    let synced = input.flag()
    let gone = outdated(puts).filter { if case .remove(let key) = $0 { contents[key] == nil } else { true } }
    let changes = contents.map { key, content in content.map { .put(key, $0) } ?? History.Change.remove(key) }
    func again(_ store: CacheStore) throws -> [History.Change] {
      try store.write(batch, durability: synced ? .synced : .buffered)
      return changes
    }
    try recorded.change(changes + gone, synced: synced, again: again) { _ = try again($0) }
  }

  /// A get that names a source: an entry with another named source is dropped.
  private func get(_ input: inout FuzzInput) {
    let key = OperationValues.key(&input)
    let source = Source([input.byte() & 64 | 1])!
    guard case .found(let info) = store.lookup(key) else {
      return claim(store.bytes(key) == nil, "\(doing): bytes without an entry")
    }
    claim(store.bytes(key)?.count == info.byteCount, "\(doing): a get and a lookup differ")
    let isMeant = info.source == source
    guard !isMeant, info.hasNamedSource else {
      return claim((store.bytes(key, source: source) != nil) == isMeant, "\(doing): a source")
    }
    let step = recorded.history.begin([.remove(key)], synced: false)
    claim(store.bytes(key, source: source) == nil, "\(doing): bytes of another source")
    if store.contains(key) { recorded.history.fail(step) } else { recorded.history.acknowledge(step) }
  }

  private func body(_ input: inout FuzzInput) throws {
    switch input.byte() & 3 {
    case 0 where bodies.count < 2:
      let key = CacheKey(OperationValues.bodies[bodies.count])
      let length = input.byte()
      let writer = try recorded.writer(
        key.urlText,
        length: length == 0 ? nil : length == 255 ? Int(bitPattern: UInt(input.hostile())) : Int(length) * 300,
        synced: length & 1 == 1)
      bodies.append((writer, key, []))
    case 0, 1:
      guard !bodies.isEmpty else { return }
      let index = input.number(below: bodies.count)
      let bytes = OperationValues.bytes(&input, mayBeHuge: false)
      // A refusal ends the body.
      do {
        try bodies[index].writer.write(bytes)
        bodies[index].bytes += bytes
      } catch {
        bodies.remove(at: index)
        throw error
      }
    case 2:
      guard let (writer, key, bytes) = bodies.popLast() else { return }
      try recorded.commit(writer, key.urlText, bytes)
    default: bodies.popLast()?.writer.abandon()
    }
  }

  private func remove(_ operation: Operation, _ input: inout FuzzInput) throws {
    let synced = input.flag()
    let durability: Durability = synced ? .synced : .buffered
    let key = OperationValues.key(&input)
    func remove(_ keys: some Collection<CacheKey>, _ body: @escaping (CacheStore) throws -> Void) throws {
      try recorded.change(keys.map { .remove($0) }, synced: synced, body)
    }
    let all = OperationValues.keys
    switch operation {
    case .remove: try recorded.remove(key.urlText, style: key.style, synced: synced)
    case .removeMany:
      let others = [key, OperationValues.key(&input), OperationValues.key(&input)]
      try remove(others) { _ = try $0.removeMany(others, durability: durability) }
    case .removeStyles:
      let styles = all.filter { $0.url == key.url }
      try remove(styles) { _ = try $0.removeAllStyles(bytes: key.url, durability: durability) }
    case .removeStyle:
      let urls = all.filter { $0.style == key.style }
      try remove(urls) { _ = try $0.removeAll(style: key.style, durability: durability) }
    case .removePrefix:
      let prefix = Array(key.url.prefix(2))
      let keys = all.filter { $0.url.starts(with: prefix) }
      try remove(keys) { _ = try $0.removeAll(prefix: prefix, durability: durability) }
    case .retainOnly: try recorded.retain(only: [key.urlText, OperationValues.key(&input).urlText])
    default:
      try recorded.removeAll(synced: synced)
      bodies.removeAll()
    }
  }

  // MARK: Time and power

  /// Advances the clock. No power loss undoes an expiry, so the history first makes all earlier changes durable.
  private func advance(_ hours: Int) throws {
    try recorded.flush()
    let then = now + Int64(hours) * OperationValues.hour
    let gone = OperationValues.keys.filter { key in
      guard case .found(let info) = store.lookup(key), let moment = info.expirationMilliseconds else { return false }
      return moment <= then
    }
    world.clock.advance(milliseconds: Int(then - now))
    recorded.history.run(gone.map { .remove($0) }, synced: true) {}
    recorded.history.flush { true }
    firstMoment = world.disk.operationCount
  }

  private func crash(_ operation: Operation, _ input: inout FuzzInput) throws {
    let last = world.disk.operationCount
    let moment = last - min(last - firstMoment, input.number(below: 64))
    let states = world.disk.crashStates(after: moment)
    let verification: Verification = [.firstRead, .always, .never][Int(input.byte() % 3)]
    let isKilled = operation == .killProcess
    let policies = states.policies(mixtures: 6, seed: UInt64(input.byte()), maximumAlone: 6)
    let policy = policies[input.number(below: policies.count)]
    let what = isKilled ? "killed after \(moment)" : "power lost after \(moment): \(policy)"
    func disk() -> SimulatedDisk { isKilled ? states.diskAfterProcessDeath() : states.disk(policy) }
    let inspection = Inspection(
      history: recorded.history, moment: moment, powerLost: !isKilled, verification: verification)
    if let wrong = inspection.run(world.rebooted(disk())) { fail("\(what): \(wrong)") }
    guard operation == .crash else { return }
    let left = world.rebooted(disk())
    bodies.removeAll()
    try? reader?.close()
    reader = nil
    recorded = always(what) { try RecordedStore(recovering: left, keys: OperationValues.keys) }
    settle()
    firstMoment = recorded.firstMoment
  }
}
