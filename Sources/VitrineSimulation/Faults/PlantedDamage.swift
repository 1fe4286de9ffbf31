import Vitrine

/// Damage of a closed store, of a kind and at a place that follow from its number: a bit, a sector, a page from
/// another place or an earlier time, eight bytes as a length that no file has, a truncated or removed file.
struct PlantedDamage: CustomStringConvertible {
  let number: Int

  init(number: Int) { self.number = number }

  init?(words: [String]) {
    guard words.count == 3, words[0] == "damage", words[2] == "at-rest", let number = Misfortune.number(words[1])
    else { return nil }
    self.init(number: number)
  }

  var description: String { "damage:\(number):at-rest" }

  /// Closes the store, damages its files, and returns whether anything beyond the damage is wrong.
  func look(_ store: RecordedStore, seed: UInt64) throws -> Finding {
    if !store.isClosed { try store.close() }
    return try look(store.world, store.history, seed: seed)
  }

  /// Does the same for the files of a store that was closed.
  func look(_ world: SimulatedWorld, _ history: History, seed: UInt64) throws -> Finding {
    let sound = world.disk.copy()
    let extents: [LiveExtent]
    let before: [CacheKey: Content]
    do {
      let reader = try open(world, sound.copy(), readOnly: true)
      extents = LiveExtent.all(of: reader)
      before = Inspection.contents(reader, history.keys)
      try reader.close()
    }
    guard let hit = strike(world.disk, sound, extents, seed) else { return .nothingStruck }
    for readOnly in [true, false] {
      do {
        let damaged = try open(world, hit.disk.copy(), readOnly: readOnly)
        if let wrong = wrong(damaged, hit, extents, before, history, isReadOnly: readOnly) {
          return .wrong("\(hit.what): \(wrong)")
        }
        if !readOnly { try writeOn(damaged, history) }
        try damaged.close()
      } catch {
        return .wrong("\(hit.what): \(error)")
      }
    }
    return .asPromised
  }

  private func open(_ world: SimulatedWorld, _ disk: SimulatedDisk, readOnly: Bool) throws -> CacheStore {
    try CacheStore.open(
      at: RecordedStore.path, options: StoreOptions(verification: .always, isReadOnly: readOnly),
      environment: world.rebooted(disk).environment)
  }

  /// Damage does not prevent writing: batches replace and remove the damaged entries.
  private func writeOn(_ store: CacheStore, _ history: History) throws {
    var batch = WriteBatch()
    for key in history.keys.sorted() { batch.put([1, 2, 3], for: key) }
    do throws(StoreError) { try store.write(batch) } catch .noSpace {}
    _ = try store.removeMany(history.keys.sorted())
    try store.requireWell()
  }

  // MARK: Damage

  private struct Hit {
    let disk: SimulatedDisk
    /// Relative to the store's folder.
    let file: String
    let what: String
    /// Every byte that differs or is missing.
    let changed: [Int]

    func overlaps(_ range: Range<Int>) -> Bool { changed.contains { range.contains($0) } }
  }

  private func strike(
    _ history: SimulatedDisk, _ sound: SimulatedDisk, _ extents: [LiveExtent], _ seed: UInt64
  ) -> Hit? {
    var numbers = SplitMix64(seed: mixed(seed, UInt64(number)))
    let files = sound.filePaths.filter { $0.hasPrefix(RecordedStore.path) && !(sound.contents($0) ?? []).isEmpty }
    guard !files.isEmpty else { return nil }
    var path = files[numbers.below(files.count)]
    var place: Int?
    if numbers.chance(60), !extents.isEmpty {
      let extent = extents[numbers.below(extents.count)]
      path = "\(RecordedStore.path)/\(extent.file)"
      place = extent.range.lowerBound + numbers.below(extent.range.count)
    }
    guard let old = sound.contents(path) else { return nil }
    var new: [UInt8]? = old
    let at = min(place ?? numbers.below(old.count), old.count - 1)
    func replace(_ grain: Int, _ bytes: (Int) -> UInt8) {
      let start = at / grain * grain
      for index in start..<min(start + grain, old.count) { new?[index] = bytes(index) }
    }
    let what: String
    switch numbers.below(8) {
    case 7:
      let (start, value) = (at / 8 * 8, [UInt64.max, 1 << 63, 0xFFFF_FFFF][numbers.below(3)])
      what = "eight bytes at \(start) as a length that no file has"
      replace(8) { UInt8(truncatingIfNeeded: value >> UInt64(8 * ($0 - start))) }
    case 0, 1:
      what = "a bit of byte \(at)"
      new?[at] ^= 1 << UInt8(numbers.below(8))
    case 2:
      what = "the sector of byte \(at) zeroed"
      replace(512) { _ in 0 }
    case 3:
      let other = sound.contents(files[numbers.below(files.count)]) ?? []
      let shift = numbers.below(max(1, other.count / 4096)) * 4096
      what = "the page of byte \(at) of another place"
      replace(4096) { shift + $0 % 4096 < other.count ? other[shift + $0 % 4096] : 0 }
    case 4:
      let moment = numbers.below(history.operationCount + 1)
      let earlier = history.crashStates(after: moment).disk(.everythingKept).contents(path) ?? []
      what = "the page of byte \(at) as it was after \(moment) operations"
      replace(4096) { $0 < earlier.count ? earlier[$0] : 0 }
    case 5:
      what = "cut to \(at) bytes"
      new = Array(old.prefix(at))
    default:
      what = "gone"
      new = nil
    }
    let changed = old.indices.filter { index in new.map { index >= $0.count || $0[index] != old[index] } ?? true }
    if changed.isEmpty { return nil }
    let disk = sound.copy()
    if let new { disk.setContents(path, new) } else { disk.remove(path) }
    return Hit(
      disk: disk, file: String(path.dropFirst(RecordedStore.path.count + 1)), what: "\(path) \(what)",
      changed: changed)
  }

  // MARK: Checks

  private func wrong(
    _ store: CacheStore, _ hit: Hit, _ extents: [LiveExtent], _ before: [CacheKey: Content], _ history: History,
    isReadOnly: Bool
  ) -> String? {
    let report: VerificationReport
    do { report = try store.verify() } catch { return "verify: \(error)" }
    if !report.lost.isEmpty { return "damage counts as lost: \(report.lost)" }
    let isInSegment = hit.file.hasPrefix("segments/")
    let struck = isInSegment ? extents.filter { $0.file == hit.file && hit.overlaps($0.range) } : []
    let keys = Set(struck.flatMap(\.keys))
    let notes = store.statistics().lastOpen.notes
    // An opening reports an unreadable segment by name, and a damaged index in some note.
    let saysSo =
      isInSegment
      ? notes.contains { $0.contains(hit.file.dropFirst("segments/".count)) }
      : !notes.isEmpty || store.statistics().lastOpen.kind != .clean
    for (key, content) in before {
      let now = Inspection.content(store, key)
      if now == content { continue }
      if isInSegment {
        guard keys.contains(key) || hit.changed.count > 4096 && saysSo else { return "\(key.urlText) was not damaged" }
        if now != nil { return "\(key.urlText) has other bytes" }
        let named = report.damaged.contains { problem in
          problem.key == key
            || struck.contains { $0.keys.contains(key) && $0.file == problem.file && $0.start == problem.offset }
        }
        if !named, !saysSo { return "verify does not name \(key.urlText): \(report.damaged)" }
      } else if now == nil || !history.hasEverPut(key, now) {
        return "\(key.urlText) \(now == nil ? "is missing" : "has bytes that were never put")"
      } else if !saysSo {
        return "\(key.urlText) is older than before, and the opening reports nothing"
      }
    }
    for key in history.keys where before[key] == nil {
      guard let now = Inspection.content(store, key) else { continue }
      if !history.hasEverPut(key, now) { return "\(key.urlText) has bytes that were never put" }
      if !saysSo { return "\(key.urlText) has returned, and the opening reports nothing" }
    }
    for problem in report.damaged where problem.file != "." {
      let isItsOwn =
        problem.file == hit.file
        && (!isInSegment || problem.offset == 0 || struck.contains { $0.start == problem.offset })
        || problem.key.map(keys.contains) ?? false
      let isExcused = saysSo && (!isInSegment || problem.file == hit.file)
      if !isItsOwn, !isExcused { return "verify names undamaged parts: \(problem)" }
    }
    // An opening for writing repairs `STORE`, so only a read-only one has to report the damage.
    for copy in [0, StoreIdentity.secondCopy] where isReadOnly && hit.file == CacheFormat.storeFile {
      guard hit.overlaps(copy..<copy + StoreIdentity.byteCount) else { continue }
      let isNamed = report.damaged.contains { $0.file == hit.file && $0.offset == copy }
      if !isNamed { return "verify does not name the copy of the identity at \(copy): \(report.damaged)" }
    }
    return nil
  }
}

/// Bytes of a segment that live entries need: the head of a record, or its payload.
struct LiveExtent {
  let file: String
  let range: Range<Int>
  /// The offset of the record.
  let start: Int
  let keys: [CacheKey]

  static func all(of store: CacheStore) -> [LiveExtent] {
    let catalog = store.catalog
    var extents: [LiveExtent] = []
    var users: [Location: [CacheKey]] = [:]
    func add(_ location: Location, _ units: Range<Int>, _ keys: [CacheKey]) {
      guard !units.isEmpty, let segment = catalog.segments.segment(location.slot) else { return }
      let range =
        location.offset + units.lowerBound * Unit.byteCount..<location.offset + units.upperBound * Unit.byteCount
      extents.append(LiveExtent(file: "segments/\(segment.fileName)", range: range, start: location.offset, keys: keys))
    }
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) {
        guard let record = catalog.record(at: entry.location, checks: true) else { continue }
        add(entry.location, 0..<record.header.headUnits, [record.key])
        let payload = record.header.carriesPayload ? entry.location : catalog.payloadLocation(of: record.header)
        if let payload { users[payload, default: []].append(record.key) }
      }
    }
    for (location, keys) in users.sorted(by: { $0.key.bits < $1.key.bits }) {
      guard let header = catalog.record(at: location, checks: true)?.header else { continue }
      add(location, header.headUnits..<header.headUnits + header.payloadUnits, keys)
      // A payload cannot be found without the head of its record.
      add(location, 0..<header.headUnits, keys)
    }
    return extents
  }
}
