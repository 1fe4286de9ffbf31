@testable import Vitrine
@testable import VitrineSimulation

/// The claims about a store opened from any files: every call returns or throws the store's own error, and no key
/// returns a value that was never put under it.
package struct StoreClaims {
  package let world: SimulatedWorld
  /// The values that each key may return; nil for a store whose records may be forged.
  package var values: [CacheKey: Set<[UInt8]>]?

  package init(_ world: SimulatedWorld, values: [CacheKey: Set<[UInt8]>]?) {
    self.world = world
    self.values = values
  }

  /// Returns the store, if it opens.
  package func open(_ options: StoreOptions) -> CacheStore? {
    do throws(StoreError) {
      return try CacheStore.open(at: SmallStore.path, options: options, environment: world.environment)
    } catch {
      return nil
    }
  }

  /// Opens a store that must open, since the files with its identity were not touched. A touched file may claim a
  /// newer format, or that no number of an opening or of a log file is left.
  package func openAnyhow(_ options: StoreOptions) -> CacheStore? {
    do throws(StoreError) {
      return try CacheStore.open(at: SmallStore.path, options: options, environment: world.environment)
    } catch {
      switch error {
      case .unsupportedFormat: return nil
      case .unreadable(_, "its opening numbers are used up"), .unreadable(_, "the numbers of its log are used up"):
        return nil
      default: refute("a store does not open: \(error)")
      }
    }
  }

  private func claimIsPut(_ bytes: [UInt8], _ key: CacheKey) {
    guard let values else { return }
    claim(values[key]?.contains(bytes) ?? false, "\(key.urlText) \(key.style) gives \(bytes.count) bytes not its own")
  }

  // MARK: Reading

  package func read(_ store: CacheStore, _ keys: [CacheKey]) {
    // First, since a get drops an entry that it finds damaged.
    let report = try? store.verify()
    let listed = (try? store.keysInOrder()) ?? []
    if let report { claimAgrees(report, listed, store) }
    for key in keys {
      if let bytes = store.bytes(key) { claimIsPut(bytes, key) }
      if case .found(let info) = store.lookup(key) {
        claim(info.key == key, "a lookup finds another key")
        _ = try? store.entries(digest: info.digest)
      }
      if let blob = store.blob(key) { claimIsPut(blob.withBytes { $0.withUnsafeBytes { Array($0) } }, key) }
      _ = store.contains(key)
      _ = store.bytes(key, source: Source([1, 2, 3]))
    }
    store.getMany(keys) { index, span in
      if let span { claimIsPut(span.withUnsafeBytes { Array($0) }, keys[index]) }
    }
    store.forEachEntry { info in
      if let values { claim(values[info.key] != nil, "a key that was never put: \(info.key.urlText)") }
      return true
    }
    claim(zip(listed, listed.dropFirst()).allSatisfy { $0 <= $1 }, "keys out of their order")
    _ = try? store.keysByRecency()
    _ = store.statistics()
    _ = store.segmentContents()
  }

  /// If `verify` reports no damage, every listed entry can be read or has expired. An entry that it reports cannot be
  /// read.
  private func claimAgrees(_ report: VerificationReport, _ listed: [CacheKey], _ store: CacheStore) {
    let problems = report.damaged + report.lost
    if problems.isEmpty {
      for key in listed {
        // Looked up before: if a forged record slides and its key does not say so, the get counts as a use.
        let told = store.lookup(key)
        claim(
          store.bytes(key) != nil || told == .expired || store.lookup(key) == .expired,
          "verify is content, and \(key.urlText) \(key.style) gives nothing")
      }
    }
    guard store.core.context.opening.verification != .never else { return }
    for case let key? in problems.map(\.key) {
      claim(store.bytes(key) == nil, "verify names \(key.urlText) \(key.style), which can be read")
    }
  }

  // MARK: Changing

  /// Makes changes of every kind. Each change throws an error or takes effect.
  package func change(_ store: CacheStore, _ keys: [CacheKey]) {
    let new = CacheKey("put into what is left")
    var put: [UInt8]?
    for bytes in [RecordedStore.bytes(400, 77), SmallStore.text(3000, 7)] {
      if (try? store.put(bytes, for: new, options: PutOptions(source: SourceOption.none))) != nil { put = bytes }
      let got = store.bytes(new)
      claim(got == put || got == nil && (put == nil || mayEvict(store)), "a new entry reads wrong")
    }
    for key in keys.prefix(3) {
      let before = store.bytes(key)
      guard (try? store.setMetadata([1, 2, 3], for: key)) == true else { continue }
      let after = store.bytes(key)
      claim(after == before || after == nil, "other bytes behind a change of metadata")
    }
    if let key = keys.last { _ = try? store.setExpiration(1 << 51, for: key) }
    _ = try? store.compact()
    world.background.runAll()
    var batch = WriteBatch()
    batch.put(RecordedStore.bytes(100, 78), for: CacheKey("in a batch"))
    if let key = keys.dropFirst(3).first { batch.remove(key) }
    if (try? store.write(batch, durability: .synced)) != nil, let key = keys.dropFirst(3).first {
      claim(!store.contains(key), "a removed key is there")
    }
    try? store.checkpoint()
    try? store.flush()
    let kept = store.bytes(new)
    claim(kept == put || kept == nil && (put == nil || mayEvict(store)), "a new entry reads wrong behind upkeep")
  }

  /// The values that ``change(_:_:)`` may leave.
  package static func changed(_ values: [CacheKey: Set<[UInt8]>]) -> [CacheKey: Set<[UInt8]>] {
    var values = values
    values[CacheKey("put into what is left")] = [RecordedStore.bytes(400, 77), SmallStore.text(3000, 7)]
    values[CacheKey("in a batch")] = [RecordedStore.bytes(100, 78)]
    return values
  }

  private func mayEvict(_ store: CacheStore) -> Bool {
    store.statistics().evictedCount > 0 || (try? store.requireWell()) == nil || values == nil
  }

  // MARK: Dumps

  /// Runs `cachectl dump` on every file.
  package func dump() {
    for path in world.disk.filePaths {
      try? CacheStore.dump(file: path, environment: world.environment) { (_: String) throws(StoreError) in }
    }
  }
}
