import CVitrine
import Vitrine

/// The object behind a `vitrine_batch`. Used by one thread at a time.
final class PendingBatch {
  var batch = WriteBatch()

  static func of(_ handle: OpaquePointer?) throws(Failure) -> PendingBatch {
    guard let batch = Handle.object(handle, .batch, as: PendingBatch.self) else { throw .badHandle }
    return batch.takeUnretainedValue()
  }

  /// Returns the key of a caller's pointers, with a copy of the URL.
  static func key(
    _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?, _ styleLength: Int
  ) throws(Failure) -> CacheKey {
    let url = Array(try Input.url(url, urlLength))
    guard let text = try Input.style(style, styleLength) else { return CacheKey(bytes: url) }
    guard let style = Style(text) else { throw Input.invalidStyle }
    return CacheKey(bytes: url, style)
  }
}

/// See `vitrine_batch_create` in vitrine.h.
@_cdecl("vitrine_batch_create")
public func createBatch(
  _ batch: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  batch?.pointee = nil
  return reporting(error) {
    try Input.result(batch, "batch").pointee = OpaquePointer(try Handle.make(.batch, PendingBatch()))
    return Status.ok
  }
}

/// See `vitrine_batch_put` in vitrine.h.
@_cdecl("vitrine_batch_put")
public func putInBatch(
  _ batch: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ bytes: UnsafeRawPointer?, _ byteCount: Int, _ options: UnsafePointer<vitrine_put_options>?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let batch = try PendingBatch.of(batch)
    let key = try PendingBatch.key(url, urlLength, style, styleLength)
    let bytes = try Input.value(bytes, byteCount)
    let options = try PutOptions(vitrine_put_options(options: options))
    batch.batch.put(Array(bytes), for: key, options: options)
    return Status.ok
  }
}

/// See `vitrine_batch_remove` in vitrine.h.
@_cdecl("vitrine_batch_remove")
public func removeInBatch(
  _ batch: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let batch = try PendingBatch.of(batch)
    batch.batch.remove(try PendingBatch.key(url, urlLength, style, styleLength))
    return Status.ok
  }
}

/// See `vitrine_batch_count` in vitrine.h.
@_cdecl("vitrine_batch_count")
public func batchCount(_ batch: OpaquePointer?) -> Int { (try? PendingBatch.of(batch))?.batch.count ?? 0 }

/// See `vitrine_batch_clear` in vitrine.h.
@_cdecl("vitrine_batch_clear")
public func clearBatch(_ batch: OpaquePointer?) -> vitrine_status {
  reporting(nil) {
    try PendingBatch.of(batch).batch = WriteBatch()
    return Status.ok
  }
}

/// See `vitrine_write` in vitrine.h.
@_cdecl("vitrine_write")
public func write(
  _ store: OpaquePointer?, _ batch: OpaquePointer?, _ durability: Int32, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    try open.store.write(try PendingBatch.of(batch).batch, durability: try Input.durability(durability))
    return Status.ok
  }
}

/// See `vitrine_batch_release` in vitrine.h.
@_cdecl("vitrine_batch_release")
public func releaseBatch(_ batch: OpaquePointer?) { Handle.release(batch, .batch, as: PendingBatch.self) }
