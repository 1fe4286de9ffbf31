/// A value ready to be stored: checked, digested, and compressed if that saves space. All of this happens outside any
/// lock.
///
/// Invariant: the buffers point into memory of the caller and into buffers of this thread. A prepared put is used up
/// before either changes.
struct PreparedPut {
  let key: OperationKey
  let metadata: UnsafeRawBufferPointer
  var payload: PreparedPayload
  var source = PutSource()
  /// Milliseconds since 1970, or since the last use if `isSliding`; 0 for never.
  let expiration: Int64
  /// True if the expiration counts from the last use.
  var isSliding = false
  let isPageAligned: Bool
  /// Whether the entry is pinned; nil if it is pinned as the entry that it replaces.
  var isPinned: Bool?
  /// When the entry was first put, in milliseconds since 1970; nil if that is now.
  var written: Int64?

  /// Frees the thread's buffers of a large value. The put must not be used after that.
  func release() {
    if payload.encoding == .zstd { ThreadContext.current.releaseCompressed() }
  }

  var stream: StreamKind { payload.layout == nil ? .originals : .bitmaps }

  /// Bytes of the record's head. A reference has no piece checksums.
  func headByteCount(isReference: Bool) -> Int {
    headByteCount(storedByteCount: isReference ? 0 : payload.stored.count)
  }

  /// Bytes of the head of a record whose payload is still to come.
  func headByteCount(storedByteCount: Int) -> Int {
    RecordHeader.headByteCount(
      url: key.url.count, style: key.style.count, metadata: metadata.count, hasLayout: payload.layout != nil,
      hasSource: source.given != nil || source.followsOriginal, storedByteCount: storedByteCount)
  }

  /// Encodes the record's head into a buffer.
  func head(
    sequence: UInt64, origin: UInt64, storedByteCount: Int, encoding: Encoding, isReference: Bool, written: Int64,
    payloadOffset: Int, seed: UInt64, into buffer: ByteBuffer
  ) {
    var flags: RecordHeader.Flags = []
    if payload.layout != nil { flags.insert(.layout) }
    if source.given != nil { flags.insert(.source) }
    if source.isNamed { flags.insert(.namedSource) }
    if isSliding { flags.insert(.sliding) }
    if !isReference && storedByteCount > RecordHeader.pieceThreshold { flags.insert(.pieces) }
    if isPageAligned { flags.insert(.pageAligned) }
    if isPinned == true { flags.insert(.pinned) }
    let header = RecordHeader(
      kind: isReference ? .reference : .payload, encoding: encoding, flags: flags, sequence: sequence,
      origin: origin, digest: payload.digest, storedByteCount: storedByteCount,
      logicalByteCount: payload.logicalByteCount, expiration: expiration, written: written,
      urlByteCount: key.url.count, styleByteCount: key.style.count, metadataByteCount: metadata.count,
      payloadOffset: payloadOffset, layout: payload.layout, source: source.given)
    header.encode(
      into: buffer, url: key.url, style: key.style, metadata: metadata, payload: payload.stored,
      pieces: payload.pieces, seed: seed)
  }
}

/// The key of an operation: its hash, and the bytes of URL and style, which its caller keeps.
struct OperationKey {
  let hash: KeyHash
  let url: UnsafeRawBufferPointer
  let style: UnsafeRawBufferPointer
}

/// The bytes of a put.
struct PreparedPayload {
  /// The bytes as given.
  var value: UnsafeRawBufferPointer
  var logicalByteCount: Int
  /// The bytes as stored.
  var stored: UnsafeRawBufferPointer
  var digest: Digest
  var encoding: Encoding
  var layout: BitmapLayout?
  /// Checksums of the pieces of `stored` if they are known already; else they are computed from it.
  var pieces: [UInt64] = []
}

/// The source of a put: the bytes from which its value was made.
struct PutSource {
  var given: Source?
  var isNamed = false
  /// True if the source is that of the URL's original at the time of the put, and was not looked up yet.
  var followsOriginal = false
  /// The source of the URL's original as it was looked up. At the commit it must still be the same.
  private(set) var original: Source??

  mutating func follow(_ source: Source?) {
    given = source
    original = .some(source)
    followsOriginal = false
  }
}

/// A record that its frame carries (rule 3).
struct CarriedRecord {
  let head: [UInt8]
  let payload: UnsafeRawBufferPointer
  /// The payload's copy, if the payload lies in a buffer of the thread that the next put of a batch uses again.
  private let copy: [UInt8]?

  /// `payload` must stay valid until the operation is committed, unless it `isTransient`: then it is copied.
  init(head: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, isTransient: Bool) {
    self.head = Array(head)
    self.payload = payload
    copy = isTransient ? Array(payload) : nil
  }

  var byteCount: Int { head.count + payload.count }

  func withBytes(_ body: (_ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Void) {
    head.withUnsafeBytes { head in
      if let copy { copy.withUnsafeBytes { body(head, $0) } } else { body(head, payload) }
    }
  }
}

/// A stored blob that a put can share: its record, and the numbers that identify it.
struct Shared {
  let location: Location
  let origin: UInt64
  let storedByteCount: Int
  let encoding: Encoding
}
