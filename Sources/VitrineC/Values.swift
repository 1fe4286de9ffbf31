import CVitrine
import Vitrine

/// The object behind a `vitrine_value`. Its pointers are valid as long as it is referenced.
final class HeldValue: Sendable {
  let blob: Blob
  fileprivate let process = OwnProcess()
  /// The bytes of the Blob.
  nonisolated(unsafe) let bytes: UnsafeRawBufferPointer
  /// A copy of the metadata at a fixed address, which an array does not guarantee.
  nonisolated(unsafe) let metadata: UnsafeMutableRawBufferPointer

  init(_ blob: Blob) {
    self.blob = blob
    bytes = blob.bytes.withUnsafeBytes { $0 }
    metadata = .allocate(byteCount: max(1, blob.metadata.count), alignment: 1)
    metadata.copyBytes(from: blob.metadata)
  }

  deinit { metadata.deallocate() }

  static func of(_ handle: OpaquePointer?) -> HeldValue? {
    Handle.object(handle, .value, as: HeldValue.self)?.takeUnretainedValue()
  }

  var info: vitrine_value_info {
    var info = vitrine_value_info()
    info.bytes = bytes.baseAddress ?? Input.nothing
    info.byte_count = bytes.count
    info.metadata = UnsafeRawPointer(metadata.baseAddress)
    info.metadata_length = blob.metadata.count
    info.digest_high = blob.digest.high
    info.digest_low = blob.digest.low
    info.written = blob.writtenMilliseconds
    info.expiration = blob.expirationMilliseconds ?? 0
    info.encoding = Int32(blob.encoding.rawValue)
    info.is_copy = blob.isCopy ? 1 : 0
    if let layout = blob.layout {
      info.width = UInt32(layout.width)
      info.height = UInt32(layout.height)
      info.bytes_per_row = UInt32(layout.bytesPerRow)
      info.pixel_format = UInt32(layout.format.rawValue)
    }
    return info
  }
}

/// See `vitrine_get` in vitrine.h.
@_cdecl("vitrine_get")
public func get(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ value: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  value?.pointee = nil
  return reporting(error) {
    let open = try OpenStore.of(store)
    let result = try Input.result(value, "value")
    guard let blob = open.store.blob(try open.key(url, urlLength, style, styleLength)) else { return Status.notFound }
    result.pointee = OpaquePointer(try Handle.make(.value, HeldValue(blob)))
    return Status.ok
  }
}

/// See `vitrine_get_many` in vitrine.h.
@_cdecl("vitrine_get_many")
public func getMany(
  _ store: OpaquePointer?, _ keys: UnsafePointer<vitrine_key>?, _ count: Int,
  _ values: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    // Checks the count before it writes to the array.
    guard (0...(Int.max / MemoryLayout<vitrine_key>.stride)).contains(count) else {
      throw Failure.invalid("there are too many keys")
    }
    guard let values else {
      if count == 0 { return Status.ok }
      throw Failure.invalid("values is NULL")
    }
    for index in 0..<count { values[index] = nil }
    let open = try OpenStore.of(store)
    do {
      for (index, key) in try open.keys(keys, count).enumerated() {
        guard let blob = open.store.blob(key) else { continue }
        values[index] = OpaquePointer(try Handle.make(.value, HeldValue(blob)))
      }
    } catch {
      for index in 0..<count {
        releaseValue(values[index])
        values[index] = nil
      }
      throw error
    }
    return Status.ok
  }
}

/// See `vitrine_value_bytes` in vitrine.h.
@_cdecl("vitrine_value_bytes")
public func valueBytes(_ value: OpaquePointer?) -> UnsafeRawPointer? {
  HeldValue.of(value).map { $0.bytes.baseAddress ?? Input.nothing }
}

/// See `vitrine_value_size` in vitrine.h.
@_cdecl("vitrine_value_size")
public func valueSize(_ value: OpaquePointer?) -> Int { HeldValue.of(value)?.bytes.count ?? 0 }

/// See `vitrine_value_get_info` in vitrine.h.
@_cdecl("vitrine_value_get_info")
public func valueInfo(
  _ value: OpaquePointer?, _ info: UnsafeMutablePointer<vitrine_value_info>?
) -> vitrine_status {
  reporting(nil) {
    guard let value = HeldValue.of(value) else { throw Failure.badHandle }
    try value.info.write(to: try Input.result(info, "info"))
    return Status.ok
  }
}

/// See `vitrine_value_is_damaged` in vitrine.h.
@_cdecl("vitrine_value_is_damaged")
public func valueIsDamaged(_ value: OpaquePointer?) -> Int32 {
  guard let value = HeldValue.of(value) else { return Status.badHandle }
  return value.blob.isDamaged ? 1 : 0
}

/// See `vitrine_value_release` in vitrine.h.
@_cdecl("vitrine_value_release")
public func releaseValue(_ value: OpaquePointer?) {
  // A forked child keeps the memory, because releasing the Blob takes locks.
  if let held = HeldValue.of(value), held.process.isLeft { return }
  Handle.release(value, .value, as: HeldValue.self)
}
