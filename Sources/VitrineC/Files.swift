import CVitrine
import Vitrine

/// See `vitrine_peek` in vitrine.h.
@_cdecl("vitrine_peek")
public func peek(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ function: vitrine_borrow_function?, _ context: UnsafeMutableRawPointer?
) -> vitrine_status {
  looking(store, url, urlLength, style, styleLength, function) { open, key, function in
    open.store.peek(key) { bytes in
      bytes.withUnsafeBytes { function(context, $0.baseAddress ?? Input.nothing, $0.count) }
    } != nil
  }
}

/// See `vitrine_with_file` in vitrine.h.
@_cdecl("vitrine_with_file")
public func withFile(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ function: vitrine_file_function?, _ context: UnsafeMutableRawPointer?
) -> vitrine_status {
  looking(store, url, urlLength, style, styleLength, function) { open, key, function in
    open.store.withFileRange(key) { range in
      function(context, range.descriptor, UInt64(range.offset), UInt64(range.byteCount))
    } != nil
  }
}

/// See `vitrine_copy_to` in vitrine.h.
@_cdecl("vitrine_copy_to")
public func copyTo(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ path: UnsafePointer<CChar>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    let key = try open.key(url, urlLength, style, styleLength)
    return Status.of(found: try open.store.copy(key, to: try Input.text(path, "the path")))
  }
}

/// Calls `body` with the key and the function of a caller. Returns whether it found an entry.
private func looking<Function>(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ function: Function?, _ body: (OpenStore, CacheKey, Function) -> Bool
) -> vitrine_status {
  reporting(nil) {
    let open = try OpenStore.of(store)
    guard let function else { throw Failure.invalid("function is NULL") }
    if body(open, try open.key(url, urlLength, style, styleLength), function) { return Status.ok }
    return open.isClosed.load(ordering: .acquiring) ? Status.closed : Status.notFound
  }
}
