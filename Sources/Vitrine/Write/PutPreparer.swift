/// Checks the arguments of a put, digests its bytes, and compresses them if that saves space. Takes no lock but,
/// for moments, those of a table's shards.
final class PutPreparer: StorePart {
  let context: StoreContext

  init(_ context: StoreContext) { self.context = context }

  /// Checks the arguments and does all the work of a put that needs no lock of the store.
  func prepare(
    _ value: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, style: Style, styleBytes: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, options: PutOptions, compresses: Bool = true
  ) throws(StoreError) -> PreparedPut {
    guard url.count <= RecordHeader.largestURL else {
      throw .invalidArgument("a URL has at most \(RecordHeader.largestURL) bytes, not \(url.count)")
    }
    guard metadata.count <= RecordHeader.largestMetadata else {
      throw .invalidArgument("metadata has at most \(RecordHeader.largestMetadata) bytes, not \(metadata.count)")
    }
    guard value.count <= RecordHeader.largestPayload else {
      throw .tooLarge(byteCount: value.count, limit: RecordHeader.largestPayload)
    }
    if let duration = options.slidingExpirationMilliseconds, duration <= 0 || options.expirationMilliseconds != nil {
      throw .invalidArgument("a sliding expiry is a positive number of milliseconds, and excludes a fixed one")
    }
    if let layout = options.layout, layout.byteCount != value.count {
      throw .invalidArgument("the layout wants \(layout.byteCount) bytes, not \(value.count)")
    }
    // The cache misses of the two tables overlap with the digest and with the compression.
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    catalog.keys.prefetch(hash)
    let digest = environment.digest?(value) ?? Digest(of: value)
    catalog.contents.prefetch(catalog.hasher.content(digest))
    var stored = value
    var encoding = options.layout == nil ? Encoding.plain : .bitmap
    let level = identity.compressionLevel
    if compresses, encoding == .plain, level > 0, Compressibility.isWorthTrying(value),
      let compressed = ThreadContext.current.compress(value, level: level)
    {
      stored = compressed
      encoding = .zstd
    }
    // 0 stands for never, so an expiry at that moment becomes one millisecond later.
    let expiration =
      options.slidingExpirationMilliseconds ?? options.expirationMilliseconds.map { $0 == 0 ? 1 : $0 } ?? 0
    var put = PreparedPut(
      key: OperationKey(hash: hash, url: url, style: styleBytes), metadata: metadata,
      payload: PreparedPayload(
        value: value, logicalByteCount: value.count, stored: stored, digest: digest, encoding: encoding,
        layout: options.layout),
      expiration: expiration, isSliding: options.slidingExpirationMilliseconds != nil,
      isPageAligned: options.isPageAligned)
    put.isPinned = options.isPinned
    switch options.source {
    case .automatic: put.source.followsOriginal = !Style.isOriginal(styleBytes, tag: style.tag)
    case .none: break
    case .named(let source):
      put.source.given = source
      put.source.isNamed = true
    }
    return put
  }
}
