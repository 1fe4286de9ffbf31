import Vitrine

/// A change of an item whose value is a number in decimal digits.
struct Arithmetic {
  var isIncrement = true
  var delta: UInt64 = 1
  /// The unique number that the item must have; nil for any.
  var unique: UInt64?
  /// If not nil, a missing item is created with ``initial`` and this expiry.
  var vivified: ExpiryTime?
  var initial: UInt64 = 0
  /// The new expiry; nil keeps the present one.
  var expiry: ExpiryTime?

  struct Result {
    let number: UInt64
    let unique: UInt64
    let expirationMilliseconds: Int64?
  }

  /// Increments wrap around at 64 bits, and decrements stop at 0.
  fileprivate func apply(to number: UInt64) -> UInt64 {
    if isIncrement { return number &+ delta }
    return delta > number ? 0 : number - delta
  }
}

extension ItemStore {
  /// Applies a change. The item keeps its flags. It keeps its expiry unless the change has one.
  func apply(_ change: Arithmetic, _ key: CacheKey) -> (StorageOutcome, Arithmetic.Result?) {
    var result: Arithmetic.Result?
    let outcome = exclusively(key) { () -> StorageOutcome in
      self.outcome { () throws(StoreError) -> StorageOutcome in
        guard let item = item(key) else {
          guard let expiry = change.vivified else { return .notFound }
          let record = ItemRecord(unique: takeUnique())
          let options = PutOptions(metadata: record.metadata, expirationMilliseconds: expiry.milliseconds)
          result = try put(change.initial, record, options, isPast: expiry == .past, key)
          return .stored(result!.unique)
        }
        if let unique = change.unique, item.record.unique != unique { return .exists }
        guard let number = ItemStore.number(item.blob) else { return .notANumber }
        var record = item.record
        record.unique = takeUnique()
        var options = keptOptions(key, record)
        if let expiry = change.expiry {
          options.expirationMilliseconds = expiry.milliseconds
          options.slidingExpirationMilliseconds = nil
        }
        result = try put(change.apply(to: number), record, options, isPast: change.expiry == .past, key)
        return .stored(record.unique)
      }
    }
    return (outcome, result)
  }

  private func put(
    _ number: UInt64, _ record: ItemRecord, _ options: PutOptions, isPast: Bool, _ key: CacheKey
  ) throws(StoreError) -> Arithmetic.Result {
    if isPast {
      try store.remove(key)
    } else {
      try store.put(Array(String(number).utf8), for: key, options: options)
    }
    return Arithmetic.Result(
      number: number, unique: record.unique, expirationMilliseconds: options.expirationMilliseconds)
  }

  /// Returns the number that a value spells. Spaces may follow it. Returns nil for other values.
  private static func number(_ blob: Blob) -> UInt64? {
    guard (1...20).contains(blob.byteCount) else { return nil }
    return blob.withBytes { bytes in
      bytes.withUnsafeBytes { bytes in
        let end = bytes.lastIndex { $0 != Byte.blank }.map { $0 + 1 } ?? 0
        return UnsafeRawBufferPointer(rebasing: bytes[..<end]).unsignedNumber
      }
    }
  }
}
