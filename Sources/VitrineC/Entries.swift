import CVitrine
import Vitrine

extension vitrine_entry {
  /// Makes an entry without pointers.
  init(_ info: EntryInfo) {
    self.init()
    url_length = info.key.url.count
    style_length = info.key.style.name.utf8.count
    metadata_length = info.metadata.count
    byte_count = UInt64(info.byteCount)
    stored_byte_count = UInt64(info.storedByteCount)
    digest_high = info.digest.high
    digest_low = info.digest.low
    written = info.writtenMilliseconds
    expiration = info.expirationMilliseconds ?? 0
    sliding_expiration = info.slidingExpirationMilliseconds ?? 0
    last_used = info.lastUsedMilliseconds ?? 0
    encoding = Int32(info.encoding.rawValue)
    if info.isPinned { flags |= UInt32(VITRINE_ENTRY_PINNED) }
    if info.isShared { flags |= UInt32(VITRINE_ENTRY_SHARED) }
    if info.hasNamedSource { flags |= UInt32(VITRINE_ENTRY_NAMED_SOURCE) }
    if let layout = info.layout {
      width = UInt32(layout.width)
      height = UInt32(layout.height)
      bytes_per_row = UInt32(layout.bytesPerRow)
      pixel_format = UInt32(layout.format.rawValue)
    }
  }
}

/// See `vitrine_lookup` in vitrine.h.
@_cdecl("vitrine_lookup")
public func lookup(
  _ store: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ urlLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ entry: UnsafeMutablePointer<vitrine_entry>?, _ reason: UnsafeMutablePointer<Int32>?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reason?.pointee = 0
  return reporting(error) {
    let open = try OpenStore.of(store)
    try vitrine_entry.check(entry)
    let miss: Int
    switch open.store.lookup(try open.key(url, urlLength, style, styleLength)) {
    case .found(let info):
      var found = vitrine_entry(info)
      found.url = url
      found.style = style
      if style == nil { found.style = Style.originalText }
      try found.write(to: entry)
      return Status.ok
    case .missing: miss = VITRINE_MISS_ABSENT
    case .expired: miss = VITRINE_MISS_EXPIRED
    case .outdated: miss = VITRINE_MISS_OUTDATED
    case .damaged: miss = VITRINE_MISS_DAMAGED
    case .closed: throw StoreError.closed
    }
    reason?.pointee = Int32(miss)
    return Status.notFound
  }
}

/// See `vitrine_for_each` in vitrine.h.
@_cdecl("vitrine_for_each")
public func forEach(
  _ store: OpaquePointer?, _ prefix: UnsafePointer<CChar>?, _ prefixLength: Int, _ style: UnsafePointer<CChar>?,
  _ styleLength: Int, _ function: vitrine_entry_function?, _ context: UnsafeMutableRawPointer?,
  _ error: UnsafeMutablePointer<vitrine_error>?
) -> vitrine_status {
  reporting(error) {
    let open = try OpenStore.of(store)
    guard let function else { throw Failure.invalid("function is NULL") }
    let prefix = Array(try Input.bytes(prefix, prefixLength, most: Input.longestURL, "the prefix"))
    let isAnyStyle = style == nil && styleLength == 0
    open.store.forEachEntry(prefix: prefix, style: isAnyStyle ? nil : try open.style(style, styleLength)) { info in
      show(info, to: function, context)
    }
    return Status.ok
  }
}

/// Calls a function of the caller with an entry, whose pointers live as long as the call. Returns whether to go on.
private func show(
  _ info: EntryInfo, to function: vitrine_entry_function, _ context: UnsafeMutableRawPointer?
) -> Bool {
  info.key.url.withUnsafeBytes { url in
    info.metadata.withUnsafeBytes { metadata in
      info.key.style.name.withCString { style in
        var entry = vitrine_entry(info)
        entry.size = MemoryLayout<vitrine_entry>.size
        entry.url = (url.baseAddress ?? Input.nothing).assumingMemoryBound(to: CChar.self)
        entry.style = style
        entry.metadata = metadata.baseAddress ?? Input.nothing
        return function(context, &entry) != 0
      }
    }
  }
}

extension Style {
  /// The name of ``original`` as constant memory.
  fileprivate static var originalText: UnsafePointer<CChar> {
    let text: StaticString = "original"
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
