/// A value ready to be stored: checked, digested, and compressed if that saves space. All of this happens outside any
/// lock.
///
/// Invariant: the buffers point into memory of the caller and into buffers of this thread. A prepared put is used up
/// before either changes.
struct PreparedPut {
  let hash: KeyHash
  let url: UnsafeRawBufferPointer
  let style: UnsafeRawBufferPointer
  let metadata: UnsafeRawBufferPointer
  /// The bytes as given.
  var value: UnsafeRawBufferPointer
  var logicalByteCount: Int
  /// The bytes as stored.
  var stored: UnsafeRawBufferPointer
  var digest: Digest
  var encoding: Encoding
  var layout: BitmapLayout?
  let expiration: Int64
  /// True if the expiration counts from the last use.
  var isSliding = false
  let isPageAligned: Bool
  var source: Source?
  var isSourceNamed = false
  /// True if the source is that of the URL's original at the time of the put, and was not looked up yet.
  var followsOriginal = false
  /// The source of the URL's original as it was looked up. At the commit it must still be the same.
  private(set) var original: Source??
  /// When the entry was first put, in milliseconds since 1970; nil if that is now.
  var written: Int64?
  /// Checksums of the pieces of `stored` if they are known already; else they are computed from it.
  var pieces: [UInt64] = []

  /// Frees the thread's buffers of a large value. The put must not be used after that.
  func release() {
    if encoding == .zstd { ThreadContext.current.releaseCompressed() }
  }

  mutating func follow(_ source: Source?) {
    self.source = source
    original = .some(source)
    followsOriginal = false
  }

  var stream: StreamKind { layout == nil ? .originals : .bitmaps }

  /// Bytes of the record's head. A reference has no piece checksums.
  func headByteCount(isReference: Bool) -> Int { headByteCount(storedByteCount: isReference ? 0 : stored.count) }

  /// Bytes of the head of a record whose payload is still to come.
  func headByteCount(storedByteCount: Int) -> Int {
    RecordHeader.headByteCount(
      url: url.count, style: style.count, metadata: metadata.count, hasLayout: layout != nil,
      hasSource: source != nil || followsOriginal, storedByteCount: storedByteCount)
  }

  /// Encodes the record's head into a buffer.
  func head(
    sequence: UInt64, origin: UInt64, storedByteCount: Int, encoding: Encoding, isReference: Bool, written: Int64,
    payloadOffset: Int, seed: UInt64, into buffer: ByteBuffer
  ) {
    var flags: RecordHeader.Flags = []
    if layout != nil { flags.insert(.layout) }
    if source != nil { flags.insert(.source) }
    if isSourceNamed { flags.insert(.namedSource) }
    if isSliding { flags.insert(.sliding) }
    if !isReference && storedByteCount > RecordHeader.pieceThreshold { flags.insert(.pieces) }
    if isPageAligned { flags.insert(.pageAligned) }
    let header = RecordHeader(
      kind: isReference ? .reference : .payload, encoding: encoding, flags: flags, sequence: sequence,
      origin: origin, digest: digest, storedByteCount: storedByteCount, logicalByteCount: logicalByteCount,
      expiration: expiration, written: written, urlByteCount: url.count, styleByteCount: style.count,
      metadataByteCount: metadata.count, payloadOffset: payloadOffset, layout: layout, source: source)
    header.encode(into: buffer, url: url, style: style, metadata: metadata, payload: stored, pieces: pieces, seed: seed)
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
