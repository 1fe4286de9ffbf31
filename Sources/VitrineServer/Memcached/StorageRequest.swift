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
    /// Only if the item has this unique number.
    case compare(UInt64)
  }

  var verb = Verb.set
  let key: CacheKey
  var flags: UInt32 = 0
  var expiry = ExpiryTime.never
  let byteCount: Int
  /// The unique number that an item must have for an append or a prepend.
  var unique: UInt64?
  /// If the compared number is less than the item's, the value is stored as stale.
  var acceptsStale = false
  /// If not nil, an append or a prepend without an item stores the value with this expiry.
  var vivified: ExpiryTime?
  /// Lines of metadata beside the item's own.
  var lines: [UInt8] = []

  init(_ verb: Verb, _ key: CacheKey, byteCount: Int) {
    self.verb = verb
    self.key = key
    self.byteCount = byteCount
  }
}

extension ItemStore {
  /// The largest value in bytes that is collected in memory. A longer value is written to the store while it arrives,
  /// unless its bytes or its properties depend on the present item.
  static let collectedByteCount = 1 << 20
  private static let longestJoined = 8 << 20

  /// Prepares for the value of a request. Throws `tooLarge` if the value is longer than the limit, and `noSpace` if the
  /// share of the byte budget for values that the store takes while they arrive is used up. Throws errors of the store.
  func begin(_ request: StorageRequest) throws(StoreError) -> ArrivedValue {
    if isReadOnly { throw .readOnly }
    let isJoined = request.verb == .append || request.verb == .prepend || request.acceptsStale
    let most = isJoined ? min(largestValue, ItemStore.longestJoined) : largestValue
    if request.byteCount > most { throw .tooLarge(byteCount: request.byteCount, limit: most) }
    if request.expiry == .past, !isJoined { return .nothing }
    if isJoined || request.byteCount <= ItemStore.collectedByteCount {
      return .bytes(CollectedBytes(memory))
    }
    guard let share = bodies.take(request.byteCount) else { throw .noSpace }
    let unique = takeUnique()
    var record = ItemRecord(flags: request.flags, unique: unique)
    record.others = request.lines
    let options = PutOptions(metadata: record.metadata, expirationMilliseconds: request.expiry.milliseconds)
    return .body(
      try store.writer(for: request.key, length: request.byteCount, options: options), unique: unique, share)
  }

  /// Stores a value if the condition of the request holds. If a `set` fails, removes the old item, so that no client
  /// mistakes its value for the new one.
  func store(_ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    exclusively(request.key) {
      switch request.verb {
      case .set:
        let outcome = put(value, request)
        if case .failed(let error) = outcome, error != .aborted { _ = try? store.remove(request.key) }
        return outcome
      case .add: return store.contains(request.key) ? .notStored : put(value, request)
      case .replace: return store.contains(request.key) ? put(value, request) : .notStored
      case .compare(let unique): return compare(unique, value, request)
      case .append, .prepend: return join(value, request)
      }
    }
  }

  /// Returns the outcome of a request whose value failed while it arrived. A `set` removes the old item, as above.
  func refuse(_ request: StorageRequest, _ error: StoreError) -> StorageOutcome {
    if request.verb == .set, error != .aborted { _ = delete(request.key) }
    return .failed(error)
  }

  private func compare(_ unique: UInt64, _ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    guard let present = properties(request.key) else { return .notFound }
    if present.record.unique == unique { return put(value, request) }
    guard request.acceptsStale, unique < present.record.unique else { return .exists }
    // The number of the client is outdated. Its value stays stale and keeps the present expiry, until the client with
    // the newest number has stored a value.
    var stale = request
    stale.expiry = present.info.expirationMilliseconds.map { .at($0) } ?? .never
    return put(value, stale) { record in
      record.isStale = true
      record.isTokenSent = present.record.isTokenSent
    }
  }

  private func put(
    _ value: ArrivedValue, _ request: StorageRequest, _ change: (inout ItemRecord) -> Void = { _ in }
  ) -> StorageOutcome {
    marks.forget(request.key)
    return outcome { () throws(StoreError) in
      if request.expiry == .past {
        try store.remove(request.key)
        return .stored(takeUnique())
      }
      switch value {
      case .bytes(let collected):
        var record = ItemRecord(flags: request.flags, unique: takeUnique())
        record.others = request.lines
        change(&record)
        try store.put(
          collected.bytes, for: request.key,
          options: PutOptions(metadata: record.metadata, expirationMilliseconds: request.expiry.milliseconds))
        return .stored(record.unique)
      case .body(let body, let unique, _):
        try body.commit()
        return .stored(unique)
      case .nothing: return .notStored
      }
    }
  }

  /// Appends or prepends. The item keeps its flags and its expiry.
  private func join(_ value: ArrivedValue, _ request: StorageRequest) -> StorageOutcome {
    guard case .bytes(let collected) = value else { return .notStored }
    let bytes = collected.bytes
    guard let item = item(request.key) else {
      guard let expiry = request.vivified else { return .notStored }
      var vivified = request
      vivified.expiry = expiry
      return put(value, vivified)
    }
    if let unique = request.unique, item.record.unique != unique { return .exists }
    let total = item.blob.byteCount + bytes.count
    if total > largestValue { return .failed(.tooLarge(byteCount: total, limit: largestValue)) }
    var record = item.record
    record.unique = takeUnique()
    guard let options = keptOptions(request.key, record) else { return .notStored }
    return outcome { () throws(StoreError) in
      if total <= ItemStore.collectedByteCount {
        var whole = request.verb == .prepend ? bytes : []
        item.blob.withBytes { $0.withUnsafeBytes { whole.append(contentsOf: $0) } }
        if request.verb == .append { whole += bytes }
        try store.put(whole, for: request.key, options: options)
        return .stored(record.unique)
      }
      guard let share = bodies.take(total) else { throw .noSpace }
      defer { withExtendedLifetime(share) {} }
      let body = try store.writer(for: request.key, length: total, options: options)
      if request.verb == .prepend { try body.writeAtOnce(bytes.span.bytes) }
      try body.writeAtOnce(item.blob.bytes)
      if request.verb == .append { try body.writeAtOnce(bytes.span.bytes) }
      try body.commit()
      return .stored(record.unique)
    }
  }

  /// The options of a put that keeps the expiry of an item. Nil if the item has expired or was evicted since it was
  /// read: then it must not come back without its expiry.
  func keptOptions(_ key: CacheKey, _ record: ItemRecord) -> PutOptions? {
    guard let info = properties(key)?.info else { return nil }
    return PutOptions(
      metadata: record.metadata, expirationMilliseconds: info.expirationMilliseconds,
      slidingExpirationMilliseconds: info.slidingExpirationMilliseconds)
  }
}
