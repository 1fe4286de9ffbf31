import CVitrine
import Vitrine

/// See `vitrine_put` in vitrine.h.
@_cdecl("vitrine_put")
public func put(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ bytes: UnsafeRawPointer?, _ byteCount: Int, _ options: UnsafePointer<vitrine_put_options>?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    let bytes = try Input.value(bytes, byteCount)
    let options = try PutOptions(vitrine_put_options(options: options))
    try open.store.put(bytes.bytes, for: key, options: options)
    return Status.ok
  }
}

/// See `vitrine_put_if` in vitrine.h.
@_cdecl("vitrine_put_if")
public func putIf(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ bytes: UnsafeRawPointer?, _ byteCount: Int, _ condition: UnsafePointer<vitrine_condition>?,
  _ options: UnsafePointer<vitrine_put_options>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    let bytes = try Input.value(bytes, byteCount)
    let condition = try PutCondition(vitrine_condition(options: condition))
    let options = try PutOptions(vitrine_put_options(options: options))
    return try open.store.put(bytes.bytes, for: key, if: condition, options: options) ? Status.ok : Status.unmet
  }
}

/// See `vitrine_set_metadata` in vitrine.h.
@_cdecl("vitrine_set_metadata")
public func setMetadata(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ metadata: UnsafeRawPointer?, _ metadataLength: Int, _ durability: Int32,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    let metadata = try Input.bytes(metadata, metadataLength, most: Input.longestMetadata, "the metadata")
    let durability = try Input.durability(durability)
    return Status.of(found: try open.store.setMetadata(Array(metadata), for: key, durability: durability))
  }
}

/// See `vitrine_set_expiration` in vitrine.h.
@_cdecl("vitrine_set_expiration")
public func setExpiration(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ expiration: Int64, _ durability: Int32, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    let durability = try Input.durability(durability)
    let expiration = expiration == 0 ? nil : expiration
    return Status.of(found: try open.store.setExpiration(expiration, for: key, durability: durability))
  }
}

/// See `vitrine_set_pinned` in vitrine.h.
@_cdecl("vitrine_set_pinned")
public func setPinned(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ pinned: Int32, _ durability: Int32, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    let durability = try Input.durability(durability)
    switch pinned {
    case 0: return Status.of(found: try open.store.unpin(key, durability: durability))
    case 1: return Status.of(found: try open.store.pin(key, durability: durability))
    default: throw Failure.invalid("pinned is neither 0 nor 1")
    }
  }
}

extension PutCondition {
  fileprivate init(_ condition: vitrine_condition) throws(Failure) {
    guard condition.reserved == 0 else { throw .invalid("reserved is not 0") }
    switch Int(condition.kind) {
    case VITRINE_IF_ABSENT: self = .absent
    case VITRINE_IF_PRESENT: self = .present
    case VITRINE_IF_DIGEST: self = .digest(Digest(high: condition.digest_high, low: condition.digest_low))
    default: throw .invalid("the condition is NULL or of no known kind")
    }
  }
}

extension Input {
  /// Returns the bytes of a value. Throws `VITRINE_ERROR_TOO_LARGE` above 1 GiB.
  static func value(_ start: UnsafeRawPointer?, _ count: Int) throws(Failure) -> UnsafeRawBufferPointer {
    // A `size_t` above `Int.max` is negative here.
    guard (0...largestValue).contains(count) else {
      let most = StoreError.tooLarge(byteCount: count < 0 ? .max : count, limit: largestValue)
      throw Failure(most)
    }
    return try bytes(start, count, most: largestValue, "the value")
  }
}
