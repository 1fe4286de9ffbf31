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
