/// The key under which a body is stored once it is whole, and the options of that put.
struct BodyTarget: Sendable {
  let key: CacheKey
  let options: PutOptions

  /// Checks the arguments, and passes `body` a put of this target without its bytes. ``PreparedPut/carry(_:_:pieces:)``
  /// adds the bytes.
  func withPut<R>(
    _ preparer: PutPreparer, _ body: (PreparedPut) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    var bare = options
    bare.layout = nil
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    return try prepare(preparer, empty, bare, compresses: false) { put throws(StoreError) in
      var put = put
      put.payload.layout = options.layout
      put.payload.encoding = options.layout == nil ? .plain : .bitmap
      return try body(put)
    }
  }

  /// Passes `body` a put of `value` that is prepared like any other put.
  func withPut<R>(
    _ preparer: PutPreparer, of value: UnsafeRawBufferPointer, _ body: (PreparedPut) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try prepare(preparer, value, options, compresses: true, body)
  }

  private func prepare<R>(
    _ preparer: PutPreparer, _ value: UnsafeRawBufferPointer, _ options: PutOptions, compresses: Bool,
    _ body: (PreparedPut) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try key.url.span.bytes.withUnsafeBytes { url throws(StoreError) in
      try key.style.bytes.span.bytes.withUnsafeBytes { style throws(StoreError) in
        try options.metadata.span.bytes.withUnsafeBytes { metadata throws(StoreError) in
          let prepared = try preparer.prepare(
            value, url: url, style: key.style, styleBytes: style, metadata: metadata, options: options,
            compresses: compresses)
          defer { prepared.release() }
          return try body(prepared)
        }
      }
    }
  }
}

extension PreparedPut {
  /// Adds the bytes, which already lie in room assigned to the body.
  mutating func carry(_ value: UnsafeRawBufferPointer, _ digest: Digest, pieces: [UInt64] = []) {
    payload.value = value
    payload.stored = value
    payload.logicalByteCount = value.count
    payload.digest = digest
    payload.pieces = pieces
  }
}
