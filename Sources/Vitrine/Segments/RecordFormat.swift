/// The header of a record, read and written in this file alone. `Docs/Format.md` has the picture.
///
/// ```
///  0 u32 magic            4 u8 kind   5 u8 encoding   6 u16 flags
///  8 u64 checksum        16 u64 sequence              24 u64 origin
/// 32 u64 digest low      40 u64 digest high
/// 48 u64 stored bytes    56 u64 logical bytes
/// 64 i64 expiration      72 i64 written
/// 80 u32 URL bytes       84 u32 metadata bytes        88 u32 payload offset
/// 92 u16 style bytes     94 u8 source bytes           95 u8 zero
/// 96 layout (16, flag 1), source (16, flag 2), piece checksums (8 each, flag 4), URL, style, metadata, zeros
/// ```
/// The checksum covers all of it but itself and the zeros behind the metadata, under the store's id, the segment's
/// id and the record's offset. So a record at any other place is invalid.
package struct RecordHeader: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    /// Carries its payload.
    case payload = 1
    /// Names a blob that another record carries.
    case reference = 2
  }

  package struct Flags: OptionSet, Sendable, Equatable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    static let layout = Flags(rawValue: 1)
    static let source = Flags(rawValue: 2)
    static let pieces = Flags(rawValue: 4)
    static let pageAligned = Flags(rawValue: 8)
    /// The caller named the source; without this flag, the source is the digest of the URL's original.
    static let namedSource = Flags(rawValue: 16)
    /// The expiration counts from the last use.
    static let sliding = Flags(rawValue: 32)
    /// Eviction skips the entry. Index and log have the flag too; this one is for an index built from the segments.
    static let pinned = Flags(rawValue: 64)
    static let known: Flags = [.layout, .source, .pieces, .pageAligned, .namedSource, .sliding, .pinned]
  }

  package static let magic: UInt32 = 0x4345_5256  // "VREC"
  package static let fixedByteCount = 96
  package static let pieceByteCount = 256 << 10
  /// Payloads longer than this have a checksum for each piece.
  package static let pieceThreshold = 1 << 20
  package static let largestPayload = 1 << 30
  package static let largestURL = 65536
  package static let largestMetadata = 65536

  package var kind: Kind
  package var encoding: Encoding
  package var flags: Flags
  package var checksum: UInt64 = 0
  /// This record's own number.
  package var sequence: UInt64
  /// The number of the record that first carried the payload; kept through copies.
  package var origin: UInt64
  package var digest: Digest
  /// Bytes of the payload in the segment of the record that carries it.
  package var storedByteCount: Int
  /// Bytes that a get returns.
  package var logicalByteCount: Int
  /// Milliseconds since 1970, or since the last use when it is sliding; 0 for never.
  package var expiration: Int64
  package var written: Int64
  package var urlByteCount: Int
  package var styleByteCount: Int
  package var metadataByteCount: Int
  /// The offset, from the record's start, where the payload begins or would begin.
  package var payloadOffset: Int
  package var layout: BitmapLayout?
  package var source: Source?

  package init(
    kind: Kind, encoding: Encoding, flags: Flags, sequence: UInt64, origin: UInt64, digest: Digest,
    storedByteCount: Int, logicalByteCount: Int, expiration: Int64, written: Int64, urlByteCount: Int,
    styleByteCount: Int, metadataByteCount: Int, payloadOffset: Int, layout: BitmapLayout?, source: Source? = nil
  ) {
    self.kind = kind
    self.encoding = encoding
    self.flags = flags
    self.sequence = sequence
    self.origin = origin
    self.digest = digest
    self.storedByteCount = storedByteCount
    self.logicalByteCount = logicalByteCount
    self.expiration = expiration
    self.written = written
    self.urlByteCount = urlByteCount
    self.styleByteCount = styleByteCount
    self.metadataByteCount = metadataByteCount
    self.payloadOffset = payloadOffset
    self.layout = layout
    self.source = source
  }

  // MARK: Places

  package var pieceCount: Int { flags.contains(.pieces) ? RecordHeader.pieceCount(storedByteCount) : 0 }
  package static func pieceCount(_ storedByteCount: Int) -> Int {
    (storedByteCount + pieceByteCount - 1) / pieceByteCount
  }
  package var pieceOffset: Int {
    RecordHeader.fixedByteCount + (flags.contains(.layout) ? 16 : 0) + (flags.contains(.source) ? 16 : 0)
  }
  package var urlOffset: Int { pieceOffset + 8 * pieceCount }
  package var styleOffset: Int { urlOffset + urlByteCount }
  package var metadataOffset: Int { styleOffset + styleByteCount }
  /// The end of the metadata: the checksum covers the head up to here.
  package var endOfHead: Int { metadataOffset + metadataByteCount }
  package var carriesPayload: Bool { kind == .payload }
  package var headUnits: Int { Unit.count(payloadOffset) }
  package var payloadUnits: Int { carriesPayload ? Unit.count(storedByteCount) : 0 }
  /// The size of the record in its segment.
  package var byteCount: Int { (headUnits + payloadUnits) * Unit.byteCount }

  /// Returns whether this record carries the payload that `reference` names: by digest, and by the number of the
  /// record that first carried it. All other fields of the payload must match as well, since a forged reference may
  /// claim anything.
  package func isPayload(of reference: RecordHeader) -> Bool {
    carriesPayload && digest == reference.digest && origin == reference.origin
      && logicalByteCount == reference.logicalByteCount && storedByteCount == reference.storedByteCount
      && encoding == reference.encoding && layout == reference.layout
  }

  /// Whether the payload was to begin on a page.
  package var isPlacedOnPage: Bool { carriesPayload && flags.contains(.pageAligned) }

  /// Returns the checksums of the payload's pieces, from the head at the start of `bytes`.
  package func pieces(in bytes: UnsafeRawBufferPointer) -> [UInt64] {
    guard let p = bytes.baseAddress, pieceOffset + 8 * pieceCount <= bytes.count else { return [] }
    return (0..<pieceCount).map { p.u64(pieceOffset + 8 * $0) }
  }

  /// Returns where a payload begins in its file, behind a head of `headByteCount` bytes at `offset`.
  package static func payloadPosition(offset: Int, headByteCount: Int, pageAligned: Bool) -> Int {
    roundUp(offset + headByteCount, to: pageAligned ? 4096 : Unit.byteCount)
  }

  // MARK: Reading

  /// Reads a header and checks every length in it against the others and against `bytes`, which begin at the record
  /// and end with its segment. Nil for anything that no writer would have written. O(1).
  @inline(__always)
  package init?(_ bytes: UnsafeRawBufferPointer) { self.init(head: bytes, available: bytes.count) }

  /// Reads a header from `bytes` that reach at least to the head's end; the segment has `available` bytes.
  package init?(head bytes: UnsafeRawBufferPointer, available: Int) {
    guard bytes.count >= RecordHeader.fixedByteCount, let p = bytes.baseAddress, p.u32(0) == RecordHeader.magic,
      let kind = Kind(rawValue: p.u8(4)), let encoding = Encoding(rawValue: p.u8(5)), p.u8(95) == 0
    else { return nil }
    let flags = Flags(rawValue: p.u16(6))
    let stored = p.u64(48)
    let logical = p.u64(56)
    let sourceByteCount = Int(p.u8(94))
    guard flags.subtracting(.known).isEmpty, stored <= UInt64(RecordHeader.largestPayload),
      logical <= UInt64(RecordHeader.largestPayload), sourceByteCount <= 16,
      sourceByteCount == 0 || sourceByteCount == 16 || flags.contains(.namedSource)
    else { return nil }
    self.init(
      kind: kind, encoding: encoding, flags: flags, sequence: p.u64(16), origin: p.u64(24),
      digest: Digest(high: p.u64(40), low: p.u64(32)), storedByteCount: Int(stored), logicalByteCount: Int(logical),
      expiration: p.i64(64), written: p.i64(72), urlByteCount: Int(p.u32(80)), styleByteCount: Int(p.u16(92)),
      metadataByteCount: Int(p.u32(84)), payloadOffset: Int(p.u32(88)), layout: nil)
    checksum = p.u64(8)
    guard urlByteCount <= RecordHeader.largestURL, metadataByteCount <= RecordHeader.largestMetadata,
      (1...255).contains(styleByteCount),
      flags.contains(.pieces) == (carriesPayload && storedByteCount > RecordHeader.pieceThreshold),
      flags.contains(.layout) == (encoding == .bitmap), flags.contains(.source) == (sourceByteCount > 0),
      flags.contains(.source) || !flags.contains(.namedSource), !flags.contains(.sliding) || expiration > 0,
      encoding == .zstd || storedByteCount == logicalByteCount,
      payloadOffset & (Unit.byteCount - 1) == 0, endOfHead <= payloadOffset, payloadOffset - endOfHead < 4096 + 64,
      endOfHead <= bytes.count, payloadOffset <= available,
      !carriesPayload || storedByteCount <= available - payloadOffset
    else { return nil }
    var next = RecordHeader.fixedByteCount
    if flags.contains(.layout) {
      guard let format = PixelFormat(rawValue: p.u8(next + 12)),
        let layout = BitmapLayout(
          width: Int(p.u32(next)), height: Int(p.u32(next + 4)), bytesPerRow: Int(p.u32(next + 8)), format: format),
        layout.byteCount == logicalByteCount
      else { return nil }
      self.layout = layout
      next += 16
    }
    if sourceByteCount > 0 {
      source = Source(low: p.u64(next), high: p.u64(next + 8), byteCount: UInt8(sourceByteCount))
    }
  }

  /// Returns whether `bytes`, which begin with this header, are unchanged since they were written at this place.
  package func isIntact(in bytes: UnsafeRawBufferPointer, seed: UInt64) -> Bool {
    checksum == RecordHeader.checksum(of: bytes, endOfHead: endOfHead, seed: seed)
  }

  private static func checksum(of bytes: UnsafeRawBufferPointer, endOfHead: Int, seed: UInt64) -> UInt64 {
    Checksum.of(
      UnsafeRawBufferPointer(rebasing: bytes[0..<8]), UnsafeRawBufferPointer(rebasing: bytes[16..<endOfHead]),
      seed: seed)
  }

  /// Returns the seed of a record's checksum.
  package static func seed(store: StoreID, segment: UInt64, offset: Int) -> UInt64 {
    Checksum.seed(store.low, store.high, segment, UInt64(offset))
  }

  // MARK: Writing

  /// Returns the bytes up to the end of the metadata, for a record without a place yet.
  package static func headByteCount(
    url: Int, style: Int, metadata: Int, hasLayout: Bool, hasSource: Bool, storedByteCount: Int
  ) -> Int {
    fixedByteCount + (hasLayout ? 16 : 0) + (hasSource ? 16 : 0)
      + (storedByteCount > pieceThreshold ? 8 * pieceCount(storedByteCount) : 0) + url + style + metadata
  }

  /// Appends the head to `buffer`, padded up to the payload. `payload` gives the piece checksums, unless `pieces` has
  /// all of them.
  package func encode(
    into buffer: ByteBuffer, url: UnsafeRawBufferPointer, style: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, pieces: [UInt64] = [], seed: UInt64
  ) {
    let start = buffer.count
    buffer.append(RecordHeader.magic)
    buffer.append(kind.rawValue)
    buffer.append(encoding.rawValue)
    buffer.append(flags.rawValue)
    buffer.append(UInt64(0))
    buffer.append(sequence)
    buffer.append(origin)
    buffer.append(digest.low)
    buffer.append(digest.high)
    buffer.append(UInt64(storedByteCount))
    buffer.append(UInt64(logicalByteCount))
    buffer.append(expiration)
    buffer.append(written)
    buffer.append(UInt32(urlByteCount))
    buffer.append(UInt32(metadataByteCount))
    buffer.append(UInt32(payloadOffset))
    buffer.append(UInt16(styleByteCount))
    buffer.append(source?.byteCount ?? 0)
    buffer.append(UInt8(0))
    if let layout {
      buffer.append(UInt32(layout.width))
      buffer.append(UInt32(layout.height))
      buffer.append(UInt32(layout.bytesPerRow))
      buffer.append(UInt32(layout.format.rawValue))
    }
    if flags.contains(.source) {
      buffer.append(source?.low ?? 0)
      buffer.append(source?.high ?? 0)
    }
    let isKnown = pieces.count == pieceCount
    for piece in 0..<pieceCount {
      if isKnown {
        buffer.append(pieces[piece])
        continue
      }
      let from = piece * RecordHeader.pieceByteCount
      let range = from..<min(from + RecordHeader.pieceByteCount, payload.count)
      buffer.append(Checksum.of(UnsafeRawBufferPointer(rebasing: payload[range]), seed: UInt64(piece)))
    }
    buffer.append(url)
    buffer.append(style)
    buffer.append(metadata)
    let bytes = UnsafeRawBufferPointer(rebasing: buffer.bytes[start...])
    buffer.set(RecordHeader.checksum(of: bytes, endOfHead: endOfHead, seed: seed), at: start + 8)
    buffer.pad(to: start + payloadOffset)
  }
}
