import CVitrine
import Vitrine

/// See `vitrine_remove` in vitrine.h.
@_cdecl("vitrine_remove")
public func remove(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ durability: Int32, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    return Status.of(found: try open.store.remove(key, durability: try Input.durability(durability)))
  }
}

/// See `vitrine_remove_url` in vitrine.h.
@_cdecl("vitrine_remove_url")
public func removeURL(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ durability: Int32,
  _ removed: UnsafeMutablePointer<UInt64>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  removing(store, durability, removed, error) { open, durability in
    try open.store.removeAllStyles(bytes: Array(try Input.url(url, urlLength)), durability: durability)
  }
}

/// See `vitrine_remove_style` in vitrine.h.
@_cdecl("vitrine_remove_style")
public func removeStyle(
  _ store: OpaquePointer?, _ style: UnsafePointer<CChar>?, _ styleLength: Int, _ durability: Int32,
  _ removed: UnsafeMutablePointer<UInt64>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  removing(store, durability, removed, error) { open, durability in
    try open.store.removeAll(style: try open.style(style, styleLength), durability: durability)
  }
}

/// See `vitrine_remove_prefix` in vitrine.h.
@_cdecl("vitrine_remove_prefix")
public func removePrefix(
  _ store: OpaquePointer?, _ prefix: UnsafePointer<CChar>?, _ prefixLength: Int, _ durability: Int32,
  _ removed: UnsafeMutablePointer<UInt64>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  removing(store, durability, removed, error) { open, durability in
    let prefix = try Input.bytes(prefix, prefixLength, most: Input.longestURL, "the prefix")
    return try open.store.removeAll(prefix: Array(prefix), durability: durability)
  }
}

/// See `vitrine_remove_expired` in vitrine.h.
@_cdecl("vitrine_remove_expired")
public func removeExpired(
  _ store: OpaquePointer?, _ removed: UnsafeMutablePointer<UInt64>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  removing(store, 0, removed, error) { open, _ in try open.store.removeExpired() }
}

/// See `vitrine_remove_all` in vitrine.h.
@_cdecl("vitrine_remove_all")
public func removeAll(
  _ store: OpaquePointer?, _ durability: Int32, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  removing(store, durability, nil, error) { open, durability in
    try open.store.removeAll(durability: durability)
    return 0
  }
}

/// Calls `body`, which removes entries, and gives the caller their number.
private func removing(
  _ store: OpaquePointer?, _ durability: Int32, _ removed: UnsafeMutablePointer<UInt64>?,
  _ error: UnsafeMutablePointer<vitrine_error>?, _ body: (OpenStore, Durability?) throws -> Int
) -> vitrine_status {
  removed?.pointee = 0
  return reporting(error) {
    let count = try body(try OpenStore.of(store), try Input.durability(durability))
    removed?.pointee = UInt64(count)
    return Status.ok
  }
}
