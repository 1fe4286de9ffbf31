import Vitrine

/// Workloads of calls that depend on the state of a key or of the store.
enum ConditionWorkloads {
  static let conditions = CrashWorkload(
    "conditions", summary: "puts under conditions, flushes of single keys, and a store that is suspended in between"
  ) { store, numbers in
    for number in 0..<12 {
      let name = "k\(numbers.below(4))"
      let bytes = numbers.bytes(numbers.size() / 2, number)
      switch numbers.below(8) {
      case 0: try store.remove(name, synced: numbers.chance(50))
      case 1: try flush(name, of: store)
      case 2 where numbers.chance(40): try suspendAndResume(store)
      case 3: try put(name, bytes, in: store, if: .present, synced: numbers.chance(50))
      case 4, 5: try put(name, bytes, in: store, if: .absent, synced: numbers.chance(50))
      case 6:
        let known = store.store.bytes(CacheKey(name)) ?? bytes
        try put(
          name, bytes, in: store, if: .digest(known.withUnsafeBytes { Digest(of: $0) }), synced: numbers.chance(50))
      default: try store.put(name, bytes, synced: numbers.chance(30))
      }
      if numbers.chance(12) { store.upkeep() }
    }
  }

  /// Stores an entry if the key's entry meets a condition. Throws the store's errors, and ``Unexpected`` if the store
  /// decides otherwise than the entry demands.
  private static func put(
    _ name: String, _ bytes: [UInt8], in recorded: RecordedStore, if condition: PutCondition, synced: Bool
  ) throws {
    let key = CacheKey(name)
    let options = PutOptions(durability: synced ? .synced : .buffered)
    func isMet(_ store: CacheStore) -> Bool {
      let digest = Inspection.content(store, key).map { $0.bytes.withUnsafeBytes { Digest(of: $0) } }
      return switch condition {
      case .absent: digest == nil
      case .present: digest != nil
      case .digest(let wanted): digest == wanted
      }
    }
    func attempted(_ store: CacheStore) throws -> [History.Change] {
      let isMet = isMet(store)
      guard try store.put(bytes, for: key, if: condition, options: options) == isMet else {
        throw RecordedStore.Unexpected(text: "a put of \(name) if \(condition) is decided against the entry")
      }
      return isMet ? [.put(key, Content(bytes, options))] : []
    }
    if isMet(recorded.store) {
      let change = History.Change.put(key, Content(bytes, options))
      try recorded.change([change], synced: synced, again: attempted) { _ = try attempted($0) }
    } else {
      try recorded.attempt { _ = try attempted(recorded.store) }
    }
  }

  /// Makes one key durable. Throws the store's errors.
  private static func flush(_ name: String, of recorded: RecordedStore) throws {
    let key = CacheKey(name)
    guard let content = Inspection.content(recorded.store, key) else {
      return try recorded.attempt { _ = try recorded.store.flush(key) }
    }
    // To the history, a synced change that leaves the content as it is.
    try recorded.change([.put(key, content)], synced: true) { _ = try $0.flush(key) }
  }

  /// Suspends the store and resumes it, unless faults are injected: a failed store stays as it is.
  private static func suspendAndResume(_ recorded: RecordedStore) throws {
    if recorded.isTolerant { return }
    try recorded.history.flush {
      try recorded.store.suspend()
      return true
    }
    try recorded.store.resume()
  }
}
