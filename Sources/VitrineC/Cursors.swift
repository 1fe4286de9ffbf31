import CVitrine
import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The object behind a `vitrine_cursor`: entries, with their URLs, styles and metadata in memory that does not move.
/// Used by one thread at a time.
final class EntryCursor {
  private var entries: [vitrine_entry] = []
  private var next = 0
  private var chunks: [UnsafeMutableRawBufferPointer] = []
  /// The number of used bytes of the last chunk.
  private var taken = 0

  /// The size of a chunk in bytes: more than the URL, the style and the metadata of an entry can have.
  private static let chunkByteCount = 256 << 10

  deinit { for chunk in chunks { chunk.deallocate() } }

  var remainingCount: Int { entries.count - next }

  func append(_ info: EntryInfo) {
    var entry = vitrine_entry(info)
    entry.url = keep(info.key.url).assumingMemoryBound(to: CChar.self)
    entry.style = keep(info.key.style.name.utf8).assumingMemoryBound(to: CChar.self)
    entry.metadata = keep(info.metadata)
    entries.append(entry)
  }

  /// Copies bytes to memory that lives as long as the cursor.
  private func keep(_ bytes: some Collection<UInt8>) -> UnsafeRawPointer {
    if chunks.isEmpty || EntryCursor.chunkByteCount - taken < bytes.count {
      chunks.append(.allocate(byteCount: EntryCursor.chunkByteCount, alignment: 16))
      taken = 0
    }
    let chunk = chunks[chunks.count - 1]
    let place = UnsafeMutableRawBufferPointer(rebasing: chunk[taken..<taken + bytes.count])
    place.copyBytes(from: bytes)
    defer { taken += bytes.count }
    return UnsafeRawPointer(chunk.baseAddress! + taken)
  }

  /// Orders by URL, byte by byte, then by style.
  func sort() {
    func order(_ a: UnsafePointer<CChar>, _ aCount: Int, _ b: UnsafePointer<CChar>, _ bCount: Int) -> Int {
      let order = Int(memcmp(a, b, min(aCount, bCount)))
      return order == 0 ? aCount - bCount : order
    }
    entries.sort { a, b in
      let urls = order(a.url, a.url_length, b.url, b.url_length)
      return urls == 0 ? order(a.style, a.style_length, b.style, b.style_length) < 0 : urls < 0
    }
  }

  /// Copies the next entry to the caller's struct. Returns whether there was one.
  func next(into entry: UnsafeMutablePointer<vitrine_entry>) throws(Failure) -> Bool {
    guard next < entries.count else { return false }
    try entries[next].write(to: entry)
    next += 1
    return true
  }

  static func of(_ handle: OpaquePointer?) -> EntryCursor? {
    Handle.object(handle, .cursor, as: EntryCursor.self)?.takeUnretainedValue()
  }
}

/// See `vitrine_cursor_open` in vitrine.h.
@_cdecl("vitrine_cursor_open")
public func openCursor(
  _ store: OpaquePointer?, _ prefix: UnsafePointer<CChar>?, _ prefixLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ flags: UInt32, _ cursor: UnsafeMutablePointer<OpaquePointer?>?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  cursor?.pointee = nil
  return reporting(error) {
    let open = try OpenStore.of(store)
    let result = try Input.result(cursor, "cursor")
    let prefix = Array(try Input.bytes(prefix, prefixLength, most: Input.longestURL, "the prefix"))
    let isAnyStyle = style == nil && styleLength == 0
    let style = isAnyStyle ? nil : try open.style(style, styleLength)
    guard flags & ~UInt32(VITRINE_CURSOR_SORTED) == 0 else {
      throw Failure.invalid("there are no flags \(flags) of a cursor")
    }
    let made = EntryCursor()
    open.store.forEachEntry(prefix: prefix, style: style) { info in
      made.append(info)
      return true
    }
    if flags & UInt32(VITRINE_CURSOR_SORTED) != 0 { made.sort() }
    result.pointee = OpaquePointer(try Handle.make(.cursor, made))
    return Status.ok
  }
}

/// See `vitrine_cursor_remaining` in vitrine.h.
@_cdecl("vitrine_cursor_remaining")
public func cursorRemaining(_ cursor: OpaquePointer?) -> Int { EntryCursor.of(cursor)?.remainingCount ?? 0 }

/// See `vitrine_cursor_next` in vitrine.h.
@_cdecl("vitrine_cursor_next")
public func cursorNext(
  _ cursor: OpaquePointer?, _ entry: UnsafeMutablePointer<vitrine_entry>?
) -> vitrine_status {
  reporting(nil) {
    guard let cursor = EntryCursor.of(cursor) else { throw Failure.badHandle }
    return try cursor.next(into: try Input.result(entry, "entry")) ? Status.ok : Status.end
  }
}

/// See `vitrine_cursor_release` in vitrine.h.
@_cdecl("vitrine_cursor_release")
public func releaseCursor(_ cursor: OpaquePointer?) { Handle.release(cursor, .cursor, as: EntryCursor.self) }
