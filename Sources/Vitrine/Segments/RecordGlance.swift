/// The few fields of a record header that a hit needs, read from mapped memory without building a ``RecordHeader``.
/// Every range is checked against the segment, so no content can lead a read out of it.
struct RecordGlance {
  private let start: UnsafeRawPointer
  let urlOffset: Int

  /// Returns nil if `bytes` do not begin with a record of this key.
  @inline(__always)
  init?(_ bytes: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, style: UnsafeRawBufferPointer) {
    guard bytes.count >= RecordHeader.fixedByteCount, let p = bytes.baseAddress, p.u32(0) == RecordHeader.magic,
      Int(p.u32(80)) == url.count, Int(p.u16(92)) == style.count
    else { return nil }
    let flags = p.u16(6)
    let stored = p.u64(48)
    let payloadOffset = Int(p.u32(88))
    var offset = RecordHeader.fixedByteCount
    if flags & 7 != 0 {
      offset += flags & 1 != 0 ? 16 : 0
      offset += flags & 2 != 0 ? 16 : 0
      if flags & 4 != 0 {
        guard stored <= UInt64(RecordHeader.largestPayload) else { return nil }
        offset += 8 * RecordHeader.pieceCount(Int(stored))
      }
    }
    guard offset + url.count + style.count <= payloadOffset, payloadOffset <= bytes.count,
      p.u8(4) != RecordHeader.Kind.payload.rawValue || stored <= UInt64(bytes.count - payloadOffset),
      equalBytes(p + offset, url), equalBytes(p + offset + url.count, style)
    else { return nil }
    start = p
    urlOffset = offset
  }

  /// Returns the style of the record at the start of `bytes` if it is another than `style`. Nil for bytes that are not
  /// a record. Also nil for a record with piece checksums (a payload above 1 MiB), because the style lies behind them.
  static func otherStyle(_ bytes: UnsafeRawBufferPointer, than style: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer?
  {
    guard bytes.count >= RecordHeader.fixedByteCount, let p = bytes.baseAddress, p.u32(0) == RecordHeader.magic else {
      return nil
    }
    let flags = p.u16(6)
    guard flags & 4 == 0 else { return nil }
    let offset = RecordHeader.fixedByteCount + (flags & 1 != 0 ? 16 : 0) + (flags & 2 != 0 ? 16 : 0)
    let (urlCount, styleCount, payloadOffset) = (Int(p.u32(80)), Int(p.u16(92)), Int(p.u32(88)))
    guard offset + urlCount + styleCount <= payloadOffset, payloadOffset <= bytes.count else { return nil }
    let found = UnsafeRawBufferPointer(start: p + offset + urlCount, count: styleCount)
    return styleCount == style.count && equalBytes(found.baseAddress!, style) ? nil : found
  }

  @inline(__always) var encoding: UInt8 { start.u8(5) }
  @inline(__always) var carriesPayload: Bool { start.u8(4) == RecordHeader.Kind.payload.rawValue }
  @inline(__always) var expiration: Int64 { start.i64(64) }
  @inline(__always) var written: Int64 { start.i64(72) }
  @inline(__always) var sequence: UInt64 { start.u64(16) }
  @inline(__always) var isSliding: Bool { start.u16(6) & RecordHeader.Flags.sliding.rawValue != 0 }
  @inline(__always) var hasNamedSource: Bool { start.u16(6) & RecordHeader.Flags.namedSource.rawValue != 0 }
  /// The source precedes the URL, so it lies in the record.
  @inline(__always) func has(_ source: Source) -> Bool {
    let flags = start.u16(6)
    guard flags & RecordHeader.Flags.source.rawValue != 0, start.u8(94) == source.byteCount else { return false }
    let offset = RecordHeader.fixedByteCount + (flags & RecordHeader.Flags.layout.rawValue != 0 ? 16 : 0)
    return start.u64(offset) == source.low && start.u64(offset + 8) == source.high
  }
  /// The fields by which a reference identifies its payload.
  @inline(__always) var payloadName: PayloadName { PayloadName(start) }
  @inline(__always) var logicalByteCount: Int { Int(truncatingIfNeeded: start.u64(56)) }
  @inline(__always) var payload: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + Int(start.u32(88)), count: Int(truncatingIfNeeded: start.u64(48)))
  }
}

/// The fields by which a reference identifies the record of its payload. They are equal in both records. See
/// ``RecordHeader/isPayload(of:)``.
struct PayloadName: Equatable {
  let digest: Digest
  let origin: UInt64
  private let stored: UInt64
  private let logical: UInt64
  private let encoding: UInt8
  private let layout: (low: UInt64, high: UInt64)

  /// `p`: the start of a record that is complete up to the URL.
  @inline(__always)
  fileprivate init(_ p: UnsafeRawPointer) {
    digest = Digest(high: p.u64(40), low: p.u64(32))
    origin = p.u64(24)
    stored = p.u64(48)
    logical = p.u64(56)
    encoding = p.u8(5)
    let hasLayout = p.u16(6) & RecordHeader.Flags.layout.rawValue != 0
    let offset = RecordHeader.fixedByteCount
    layout = hasLayout ? (p.u64(offset), p.u64(offset + 8)) : (0, 0)
  }

  /// Returns the payload of the record at the start of `bytes`. Returns nil if it has another name, is compressed, or
  /// does not lie in `bytes`.
  func payload(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard bytes.count >= RecordHeader.fixedByteCount, let p = bytes.baseAddress, p.u32(0) == RecordHeader.magic,
      p.u8(4) == RecordHeader.Kind.payload.rawValue, encoding != Encoding.zstd.rawValue, stored == logical
    else { return nil }
    let offset = Int(p.u32(88))
    guard offset >= RecordHeader.fixedByteCount + 16, offset <= bytes.count, stored <= UInt64(bytes.count - offset),
      self == PayloadName(p)
    else { return nil }
    return UnsafeRawBufferPointer(start: p + offset, count: Int(stored))
  }

  static func == (a: PayloadName, b: PayloadName) -> Bool {
    a.digest == b.digest && a.origin == b.origin && a.stored == b.stored && a.logical == b.logical
      && a.encoding == b.encoding && a.layout == b.layout
  }
}
