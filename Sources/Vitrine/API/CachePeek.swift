// Gets that leave the order of eviction as it is.
extension CacheStore {
  /// Calls `body` with the bytes of an entry, like ``get(_:style:source:_:)``, but does not count as a use: the order
  /// of eviction, a sliding expiration, a maximum idle time, the hit ratio and the curve of misses stay as they are.
  ///
  /// For previews, checks and copies that must not keep an entry in the cache. An entry made from another source is a
  /// miss, and stays. Throws only the errors of `body`. Costs as much as a get. Thread-safe.
  @inlinable
  public func peek<R: ~Copyable, E: Error>(
    _ url: String, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try peek(url.utf8Span.span.bytes, style: style, source: source, body)
  }

  /// Calls `body` with the bytes of an entry without a use, for a URL in bytes. Throws only the errors of `body`.
  @inlinable
  public func peek<R: ~Copyable, E: Error>(
    _ url: borrowing RawSpan, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try lend(acquireUncounted(url, style, source), body)
  }

  /// Calls `body` with the bytes of a key's entry without a use. Throws only the errors of `body`.
  @inlinable
  public func peek<R: ~Copyable, E: Error>(
    _ key: CacheKey, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try peek(key.url.span.bytes, style: key.style, source: source, body)
  }

  @usableFromInline
  @inline(never)
  func acquireUncounted(_ url: borrowing RawSpan, _ style: Style, _ source: Source?) -> Borrow {
    url.withUnsafeBytes { url in
      read { core in
        let hash = core.context.catalog.hasher.key(url, styleTag: style.tag)
        return style.bytes.withUnsafeBytes {
          core.reads.reader.borrow(url, $0, hash, source: source, counts: false)
        }
      }
    }
  }
}
