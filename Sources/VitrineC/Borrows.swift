import CVitrine
import Vitrine

/// See `vitrine_borrow` in vitrine.h.
///
/// A hit allocates nothing and counts no references: the handle keeps the store alive, and the table of styles keeps
/// the style alive.
@_cdecl("vitrine_borrow")
public func borrow(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ function: vitrine_borrow_function?, _ context: UnsafeMutableRawPointer?
) -> vitrine_status {
  guard let open = Handle.object(store, .store, as: OpenStore.self) else { return Status.badHandle }
  guard let function, (0...Input.longestURL).contains(urlLength), url != nil || urlLength == 0 else {
    return Status.invalidArgument
  }
  let url = UnsafeRawBufferPointer(start: url, count: urlLength)
  return open._withUnsafeGuaranteedRef { open in
    let known: Unmanaged<KnownStyle>?
    if let style {
      guard (1...255).contains(styleLength) else { return Status.invalidArgument }
      known = open.styles.find(UnsafeRawBufferPointer(start: style, count: styleLength))
    } else {
      guard styleLength == 0 else { return Status.invalidArgument }
      known = open.styles.original
    }
    guard let known else { return borrow(open, url, style, styleLength, function, context) }
    return known._withUnsafeGuaranteedRef { known in
      let isFound: Void? = open.store.get(url.bytes, style: known.style) { bytes in
        bytes.withUnsafeBytes { function(context, $0.baseAddress ?? Input.nothing, $0.count) }
      }
      return isFound == nil ? missed(open) : Status.ok
    }
  }
}

/// Borrows an entry whose style is not in the table.
@inline(never)
private func borrow(
  _ open: OpenStore, _ url: UnsafeRawBufferPointer, _ style: UnsafePointer<CChar>?, _ styleLength: Int,
  _ function: vitrine_borrow_function, _ context: UnsafeMutableRawPointer?
) -> vitrine_status {
  guard let style = Style(UnsafeRawBufferPointer(start: style, count: styleLength)) else {
    return Status.invalidArgument
  }
  let isFound: Void? = open.store.get(url.bytes, style: style) { bytes in
    bytes.withUnsafeBytes { function(context, $0.baseAddress ?? Input.nothing, $0.count) }
  }
  return isFound == nil ? missed(open) : Status.ok
}

@inline(never)
private func missed(_ open: OpenStore) -> vitrine_status {
  open.isClosed.load(ordering: .acquiring) ? Status.closed : Status.notFound
}

/// See `vitrine_borrow_many` in vitrine.h.
@_cdecl("vitrine_borrow_many")
public func borrowMany(
  _ store: OpaquePointer?, _ keys: UnsafePointer<vitrine_key>?, _ count: Int,
  _ function: vitrine_borrow_many_function?, _ context: UnsafeMutableRawPointer?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    guard let function else { throw Failure.invalid("function is NULL") }
    open.store.getMany(try open.keys(keys, count)) { index, bytes in
      guard let bytes else { return function(context, index, nil, 0) }
      bytes.withUnsafeBytes { function(context, index, $0.baseAddress ?? Input.nothing, $0.count) }
    }
    return Status.ok
  }
}

/// See `vitrine_read` in vitrine.h.
@_cdecl("vitrine_read")
public func read(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ offset: UInt64, _ buffer: UnsafeMutableRawPointer?, _ length: Int,
  _ copied: UnsafeMutablePointer<Int>?, _ byteCount: UnsafeMutablePointer<UInt64>?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  copied?.pointee = 0
  byteCount?.pointee = 0
  return reporting(error) {
    let open = try OpenStore.of(store)
    let url = try Input.url(url, urlLength)
    let style = try open.style(style, styleLength)
    // A length above `Int.max` is negative here.
    guard length >= 0, buffer != nil || length == 0 else {
      throw Failure.invalid("buffer is NULL, or length is too large")
    }
    let counts = open.store.get(url.bytes, style: style) { bytes in
      bytes.withUnsafeBytes { bytes -> (copied: Int, all: Int) in
        let begin = Int(min(offset, UInt64(bytes.count)))
        let count = min(length, bytes.count - begin)
        if count > 0, let buffer, let start = bytes.baseAddress {
          buffer.copyMemory(from: start + begin, byteCount: count)
        }
        return (count, bytes.count)
      }
    }
    guard let counts else { return missed(open) }
    copied?.pointee = counts.copied
    byteCount?.pointee = UInt64(counts.all)
    return Status.ok
  }
}

/// See `vitrine_contains` in vitrine.h.
@_cdecl("vitrine_contains")
public func contains(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    return Status.of(found: open.store.contains(try open.key(url, urlLength, style, styleLength)))
  }
}

extension Input {
  /// A pointer for values without bytes, because NULL means a miss.
  static var nothing: UnsafeRawPointer {
    let text: StaticString = ""
    return UnsafeRawPointer(text.utf8Start)
  }
}

extension OpenStore {
  /// Returns copies of a caller's keys.
  func keys(_ keys: UnsafePointer<vitrine_key>?, _ count: Int) throws(Failure) -> [CacheKey] {
    let most = Int.max / MemoryLayout<vitrine_key>.stride
    let bytes = try Input.bytes(
      keys, (0...most).contains(count) ? count * MemoryLayout<vitrine_key>.stride : -1, most: .max, "keys")
    var result: [CacheKey] = []
    for offset in stride(from: 0, to: bytes.count, by: MemoryLayout<vitrine_key>.stride) {
      let key = bytes.loadUnaligned(fromByteOffset: offset, as: vitrine_key.self)
      result.append(try self.key(key.url, key.url_length, key.style, key.style_length))
    }
    return result
  }
}
