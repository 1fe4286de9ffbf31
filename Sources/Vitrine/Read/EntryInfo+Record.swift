extension EntryInfo {
  /// Describes the entry of a record. `isPinned` comes from the index, because the flag in the record may be older.
  init(_ view: RecordView, lastUse: Int64?, isPinned: Bool) {
    let header = view.header
    self.init(
      key: view.key, digest: header.digest, encoding: header.encoding, layout: header.layout,
      byteCount: header.logicalByteCount,
      storedByteCount: header.storedByteCount, metadata: Array(view.metadata), writtenMilliseconds: header.written,
      expirationMilliseconds: header.expiration == 0 || header.flags.contains(.sliding) ? nil : header.expiration,
      slidingExpirationMilliseconds: header.flags.contains(.sliding) ? header.expiration : nil,
      source: header.source, hasNamedSource: header.flags.contains(.namedSource),
      lastUsedMilliseconds: lastUse, isShared: !header.carriesPayload,
      isPinned: isPinned)
  }
}

extension RecordView {
  package var key: CacheKey {
    let style = Array(style)
    return CacheKey(bytes: Array(url), Style(valid: style, name: String(decoding: style, as: UTF8.self)))
  }
}
