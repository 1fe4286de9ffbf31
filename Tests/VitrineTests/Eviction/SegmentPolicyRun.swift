import Testing

@testable import Vitrine

/// A store beside the model of its policy. Each change is made in both, and then they are compared.
///
/// Upkeep never runs, so segments are reclaimed only when a change or a test needs room.
final class SegmentPolicyRun {
  let store: CacheStore
  private(set) var model: SegmentPolicyModel
  private let world: TestWorld
  /// The slots of all segments so far.
  private let slots: Slots
  /// Added to the messages, such as the command that repeats the run.
  private let comment: String
  private var step = 0
  private var doing = ""
  private var valueCount: UInt64 = 0
  /// The keys by their hashes.
  private var keys: [UInt64: CacheKey] = [:]
  private var values: [CacheKey: [UInt8]] = [:]

  private final class Slots {
    var byID: [UInt64: Int] = [:]
  }

  static let segmentByteCount = 64 << 10

  /// The store and the model differ.
  struct Disagreement: Error, CustomStringConvertible {
    let description: String
  }

  /// `numbers`: those of the model; nil for those of the policy.
  init(
    _ policy: EvictionPolicy, byteBudget: Int = 2 << 20, entryBudget: Int? = nil, seed: UInt64 = 1,
    numbers: SegmentPolicyNumbers? = nil, comment: String = ""
  ) throws {
    world = TestWorld(fileSystem: MemoryDisk(), seed: seed)
    self.comment = comment
    let store = try world.open(
      "store",
      StoreOptions(
        byteBudget: byteBudget, entryBudget: entryBudget, segmentByteCount: SegmentPolicyRun.segmentByteCount,
        policy: policy))
    self.store = store
    try store.probe.steps.growCheckpoints(moreKeys: 1500)
    let slots = Slots()
    self.slots = slots
    let facts = SegmentPolicyFacts(
      byteBudget: byteBudget, entryBudget: entryBudget ?? 0, segmentByteCount: SegmentPolicyRun.segmentByteCount,
      hash: { store.probe.hash(of: $0).stored.bits }, slot: { slots.byID[$0] ?? .max })
    model = SegmentPolicyModel(
      numbers ?? SegmentPolicyNumbers(policy), facts, nextSegment: store.probe.nextSegment)
    try require(store.probe.segments.allSatisfy { $0 == nil }, "a new store has segments")
  }

  // MARK: Changes

  /// Puts a value. A value larger than a segment is left out for a pinned key, and if the store has no room for it:
  /// then it is refused before anything else happens.
  func put(_ key: CacheKey, _ byteCount: Int, _ layout: BitmapLayout? = nil) throws {
    let isSingle = byteCount > SegmentPolicyRun.segmentByteCount
    if isSingle, model.entries[key]?.isPinned ?? false { return }
    try begin("put of \(byteCount) bytes for \(key)")
    valueCount += 1
    let bytes = noise(byteCount, valueCount)
    let error = storeError { try store.put(bytes, for: key, options: PutOptions(layout: layout)) }
    if isSingle, error != nil { return }
    let size = try size(of: key, payload: byteCount, isStored: error == nil)
    let fits = model.put(key, byteCount, size, layout == nil ? .originals : .bitmaps)
    try require((error == nil) == fits, "\(message): \(error.map { "\($0)" } ?? "stored")")
    if fits { values[key] = bytes }
    try end(key)
  }

  /// Returns whether the key was there.
  @discardableResult
  func get(_ key: CacheKey) throws -> Bool {
    try begin("get of \(key)")
    let bytes = store.bytes(key)
    try require(bytes?.count == model.entries[key]?.byteCount, message)
    model.get(key)
    try end(key)
    return bytes != nil
  }

  func remove(_ key: CacheKey) throws {
    try begin("removal of \(key)")
    try require(store.remove(key) == (model.entries[key] != nil), message)
    model.remove(key)
    try end(key)
  }

  /// Pins a key or ends its pin; nil changes the metadata. Left out if it needs a new segment: while segments are
  /// reclaimed for the change, the entry may be moved or dropped, and then the store places the record once more.
  func change(_ key: CacheKey, isPinned: Bool?) throws {
    let head = headByteCount(key)
    if let entry = model.entries[key], !model.hasRoom(for: head, key, entry.kind) { return }
    try begin(isPinned.map { $0 ? "pin of \(key)" : "end of the pin of \(key)" } ?? "change of \(key)")
    let isChanged = Result<Bool, any Error> {
      switch isPinned {
      case true?: try store.pin(key)
      case false?: try store.unpin(key)
      case nil: try store.setMetadata([], for: key)
      }
    }
    let isChangedInModel = model.change(key, isPinned: isPinned, RecordSize(head: head, payload: 0))
    try require(((try? isChanged.get()) ?? false) == isChangedInModel, "\(message): \(isChanged)")
    try end(key)
  }

  /// Puts the bytes of another key. Left out if that evicts or needs a new segment, as in ``change(_:isPinned:)``.
  func put(_ key: CacheKey, sharing other: CacheKey) throws {
    let head = headByteCount(key)
    guard let entry = model.entries[other], let bytes = values[other], entry.kind == .originals,
      model.hasRoom(for: head, key, .originals),
      model.entries[key] != nil || model.facts.entryBudget == 0 || model.entries.count < model.facts.entryBudget
    else { return }
    try begin("put for \(key) of the bytes of \(other)")
    let error = storeError { try store.put(bytes, for: key) }
    let fits = model.put(key, sharing: other, RecordSize(head: head, payload: 0))
    try require((error == nil) == fits, "\(message): \(error.map { "\($0)" } ?? "stored")")
    if fits { values[key] = bytes }
    try end(key)
  }

  /// Makes room for so many bytes.
  func makeRoom(_ byteCount: Int) throws {
    try begin("room for \(byteCount) bytes")
    try store.probe.makeRoom(for: byteCount)
    model.makeRoom(for: byteCount)
    try end(nil)
  }

  // MARK: Facts

  private var message: String { "step \(step), \(doing); own bytes \(model.space.own) to \(own); \(comment)" }

  private func require(_ isTrue: Bool, _ message: @autoclosure () -> String) throws {
    if !isTrue { throw Disagreement(description: message()) }
  }

  private func begin(_ doing: String) throws {
    step += 1
    self.doing = doing
    model.space.own = own
  }

  /// Bytes of the store's own files.
  private var own: Int {
    store.probe.missing(0) + store.byteBudget
      - store.probe.segments.reduce(0) { $0 + ($1.map { store.probe.account($0).allocatedByteCount } ?? 0) }
  }

  private func headByteCount(_ key: CacheKey) -> Int {
    let byteCount = RecordHeader.fixedByteCount + key.url.count + key.style.bytes.count
    return Unit.count(byteCount) * Unit.byteCount
  }

  /// The size of a new record. That of a refused one follows from the lengths.
  private func size(of key: CacheKey, payload: Int, isStored: Bool) throws -> RecordSize {
    let predicted = RecordSize(
      head: headByteCount(key), payload: Unit.count(payload) * Unit.byteCount)
    guard isStored else { return predicted }
    let location = try #require(store.probe.location(of: key))
    let header = try #require(store.probe.record(at: location)?.header)
    try require(header.headUnits * Unit.byteCount == predicted.head, message)
    try require(header.payloadUnits * Unit.byteCount == predicted.payload, message)
    let account = try store.probe.account(#require(store.probe.segment(inSlot: location.slot)))
    return RecordSize(
      head: predicted.head, payload: predicted.payload, extent: account.stream == .single ? account.byteCount : nil)
  }

  // MARK: Comparison

  private var segmentMark: (UInt64, Int) = (0, 0)

  private func end(_ key: CacheKey?) throws {
    let segments = store.probe.segments.compactMap { $0 }
    for segment in segments { slots.byID[segment.id] = segment.slot }
    try require(model.counts.unserved == 0, "segments do not suffice: \(message)")
    try require(store.count == model.entries.count, "\(store.count) entries, not \(model.entries.count): \(message)")
    if let key {
      keys[store.probe.hash(of: key).stored.bits] = key
      if let slot = store.probe.slot(of: key) {
        guard let entry = model.entries[key] else { throw Disagreement(description: message) }
        let place = model.record(entry.record).map { ($0.segment.id, $0.record.offset) }
        try compare(key, slot, place)
      } else {
        try require(model.entries[key] == nil, message)
      }
    }
    // Between two looks at everything, no entry leaves unless a segment is made or retired or the number of entries is
    // limited.
    let mark = (store.probe.nextSegment, segments.count)
    if mark != segmentMark || model.facts.entryBudget > 0 || step % 16 == 0 { try compare(segments) }
    segmentMark = mark
  }

  private func compare(_ key: CacheKey, _ slot: KeySlot, _ place: (segment: UInt64, offset: Int)?) throws {
    guard let entry = model.entries[key] else { throw Disagreement(description: message) }
    guard let place else { throw Disagreement(description: message) }
    try require(slot.uses == entry.uses, "uses of \(key): \(message)")
    try require(slot.flags.contains(.pinned) == entry.isPinned, "pin of \(key): \(message)")
    try require(
      store.probe.segmentNumber(inSlot: slot.location.slot) == place.segment && slot.location.offset == place.offset,
      "place of \(key): \(message)")
  }

  /// Compares all entries, and the stream, the fill and the live bytes of each segment.
  func compareAll() throws { try compare(store.probe.segments.compactMap { $0 }) }

  private func compare(_ segments: [Segment]) throws {
    let entries = store.probe.entries
    let names = entries.compactMap { keys[$0.hash.bits] }
    let (left, right) = (Set(names), Set(model.entries.keys))
    if left != right {
      func names(_ keys: Set<CacheKey>) -> [String] { keys.map { String(decoding: $0.url, as: UTF8.self) } }
      let (more, less) = (names(left.subtracting(right)), names(right.subtracting(left)))
      throw Disagreement(description: "kept by the store only: \(more), by the model only: \(less); \(message)")
    }
    let places = model.places
    for (entry, key) in zip(entries, names) {
      try compare(key, entry.slot, model.entries[key].flatMap { places[$0.record] })
    }
    let (ids, expectedIDs) = (segments.map(\.id).sorted(), model.space.segments.map(\.id).sorted())
    try require(ids == expectedIDs, "segments \(ids), not \(expectedIDs): \(message)")
    let live = model.live
    for segment in segments {
      let account = store.probe.account(segment)
      let expected = model.space.segments[model.index(segment.id)!]
      try require(account.stream == expected.stream, "queue of segment \(segment.id): \(message)")
      try require(account.allocatedByteCount == expected.byteCount, "size of segment \(segment.id): \(message)")
      try require(account.fill.tail == expected.end, "fill of segment \(segment.id): \(message)")
      let units = expected.records.reduce(0) {
        $0 + (live.keys.contains($1.number) ? $1.head : 0) + (live.payloads.contains($1.number) ? $1.payload : 0)
      }
      try require(account.live.units * Unit.byteCount == units, "live bytes of segment \(segment.id): \(message)")
    }
  }

  func close() throws {
    try compareAll()
    try require(store.verify().damaged == [], message)
    try store.close()
  }
}
