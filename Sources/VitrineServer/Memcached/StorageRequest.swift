import Vitrine

/// A request that stores a value.
struct StorageRequest {
  enum Verb: Equatable {
    case set
    /// Only if there is no item.
    case add
    /// Only if there is an item.
    case replace
    case append
    case prepend
    /// Only if the item has this number.
    case compare(UInt64)
  }

  var verb = Verb.set
  let key: CacheKey
  var flags: UInt32 = 0
  var expiry = ExpiryTime.never
  let byteCount: Int
  /// The number that an item must have for an append or a prepend.
  var unique: UInt64?
  /// A comparison with a number below that of the item stores the value as stale.
  var acceptsStale = false
  /// An append or a prepend without an item stores the value, with this expiry.
  var vivified: ExpiryTime?

  init(_ verb: Verb, _ key: CacheKey, byteCount: Int) {
    self.verb = verb
    self.key = key
    self.byteCount = byteCount
  }
}

/// The value of a request, as it arrived.
enum ArrivedValue {
  case bytes([UInt8])
  /// A long value goes to the store while it arrives. Its properties were given before.
  case body(BodyWriter, unique: UInt64)
}

extension ItemStore {
  /// Stores a value if the condition of the request holds.
  func store(_ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    exclusively(request.key) {
      switch request.verb {
      case .set: return put(value, request)
      case .add: return store.contains(request.key) ? .notStored : put(value, request)
      case .replace: return store.contains(request.key) ? put(value, request) : .notStored
      case .compare(let unique): return compare(unique, value, request)
      case .append, .prepend: return join(value, request)
      }
    }
  }

  /// Removes the item of a request whose value cannot be stored. No client then takes an old value for the new one.
  func removeOutdated(_ request: StorageRequest) { _ = delete(request.key) }

  /// Begins a value that goes to the store while it arrives. Returns nil if it must be collected in memory.
  func begin(_ request: StorageRequest) throws(StoreError) -> ArrivedValue? {
    guard request.byteCount > ItemStore.collectedByteCount, request.expiry != .past else { return nil }
    switch request.verb {
    case .append, .prepend: return nil
    case .set, .add, .replace, .compare:
      let unique = takeUnique()
      let record = ItemRecord(flags: request.flags, unique: unique)
      let options = PutOptions(metadata: record.metadata, expirationMilliseconds: request.expiry.milliseconds)
      return .body(try store.writer(for: request.key, length: request.byteCount, options: options), unique: unique)
    }
  }

  /// Longer values go to the store while they arrive, but for those of `append` and `prepend`.
  static let collectedByteCount = 1 << 20

  private func compare(_ unique: UInt64, _ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    guard let present = properties(request.key) else { return .notFound }
    if present.record.unique == unique { return put(value, request) }
    guard request.acceptsStale, unique < present.record.unique else { return .exists }
    // A client that lost its token renews the value. It stays stale until the owner of the newest number has stored its own.
    let outcome = put(value, request)
    guard case .stored(let number) = outcome else { return outcome }
    var record = ItemRecord(flags: request.flags, unique: number)
    record.isStale = true
    record.isTokenSent = present.record.isTokenSent
    _ = self.outcome { () throws(StoreError) in
      try store.setExpiration(present.info.expirationMilliseconds, for: request.key) ? .stored(0) : .notFound
    }
    return set(record, request.key)
  }

  private func put(_ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    marks.forget(request.key)
    return outcome { () throws(StoreError) in
      if request.expiry == .past {
        try store.remove(request.key)
        return .stored(takeUnique())
      }
      switch value {
      case .bytes(let bytes):
        let unique = takeUnique()
        let record = ItemRecord(flags: request.flags, unique: unique)
        try store.put(
          bytes, for: request.key,
          options: PutOptions(metadata: record.metadata, expirationMilliseconds: request.expiry.milliseconds))
        return .stored(unique)
      case .body(let body, let unique):
        try body.commit()
        return .stored(unique)
      }
    }
  }

  /// Appends or prepends. The item keeps its flags and its expiry.
  private func join(_ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    guard case .bytes(let bytes) = value else { return .failed(.invalidArgument("no value to append")) }
    guard let item = item(request.key) else {
      guard let expiry = request.vivified else { return .notStored }
      var vivified = StorageRequest(.set, request.key, byteCount: bytes.count)
      vivified.flags = request.flags
      vivified.expiry = expiry
      return put(value, vivified)
    }
    if let unique = request.unique, item.record.unique != unique { return .exists }
    let total = item.blob.byteCount + bytes.count
    if total > largestValue { return .failed(.tooLarge(byteCount: total, limit: largestValue)) }
    var record = item.record
    record.unique = takeUnique()
    let options = PutOptions(
      metadata: record.metadata, expirationMilliseconds: item.blob.expirationMilliseconds)
    return outcome { () throws(StoreError) in
      let body = try store.writer(for: request.key, length: total, options: options)
      if request.verb == .prepend { try body.write(bytes) }
      try body.write(item.blob.bytes)
      if request.verb == .append { try body.write(bytes) }
      try body.commit()
      return .stored(record.unique)
    }
  }
}
