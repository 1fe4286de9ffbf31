/// The kind of records that a segment takes.
package enum StreamKind: UInt32, Sendable, CaseIterable {
  case originals = 0
  case bitmaps = 1
  /// Copies by compaction, which keep their record numbers.
  case mainOriginals = 2
  case mainBitmaps = 3
  /// One record too large for a segment of the ordinary size.
  case single = 4
  /// Records of recently evicted keys that were put again.
  case returnedOriginals = 5
  case returnedBitmaps = 6
  /// No stream yet.
  case spare = 0xFF

  package var isReturned: Bool { self == .returnedOriginals || self == .returnedBitmaps }

  package var name: String {
    switch self {
    case .originals: "originals"
    case .bitmaps: "bitmaps"
    case .mainOriginals: "originals-main"
    case .mainBitmaps: "bitmaps-main"
    case .single: "single"
    case .returnedOriginals: "originals-returned"
    case .returnedBitmaps: "bitmaps-returned"
    case .spare: "spare"
    }
  }
}

/// The first 128 bytes of a segment file. Reading records does not need it. It identifies the segment for `repair` and
/// for people.
///
/// ```
///  0 u64 magic   8 u32 version  12 u32 stream  16 u64 store id low  24 u64 store id high
/// 32 u64 segment id            40 u64 bytes    48 u64 opening       56 i64 made   64 zeros   120 u64 checksum
/// ```
package struct SegmentHeader: Sendable, Equatable {
  package static let magic: UInt64 = 0x4745_535F_5254_4956  // "VITR_SEG"
  package static let byteCount = 128

  package var version: UInt32 = 1
  package var stream: StreamKind
  package var store: StoreID
  package var segment: UInt64
  package var fileByteCount: Int
  package var opening: UInt64
  package var made: Int64

  package init(
    stream: StreamKind, store: StoreID, segment: UInt64, fileByteCount: Int, opening: UInt64, made: Int64
  ) {
    self.stream = stream
    self.store = store
    self.segment = segment
    self.fileByteCount = fileByteCount
    self.opening = opening
    self.made = made
  }

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= SegmentHeader.byteCount, let p = bytes.baseAddress, p.u64(0) == SegmentHeader.magic,
      p.u64(120) == Checksum.of(UnsafeRawBufferPointer(start: p, count: 120), seed: SegmentHeader.magic),
      let stream = StreamKind(rawValue: p.u32(12))
    else { return nil }
    self.init(
      stream: stream, store: StoreID(low: p.u64(16), high: p.u64(24)), segment: p.u64(32),
      fileByteCount: Int(clamping: p.u64(40)), opening: p.u64(48), made: p.i64(56))
    version = p.u32(8)
  }

  package func encoded() -> [UInt8] {
    let buffer = ByteBuffer(capacity: SegmentHeader.byteCount)
    buffer.append(SegmentHeader.magic)
    buffer.append(version)
    buffer.append(stream.rawValue)
    buffer.append(store.low)
    buffer.append(store.high)
    buffer.append(segment)
    buffer.append(UInt64(fileByteCount))
    buffer.append(opening)
    buffer.append(made)
    buffer.pad(to: 120)
    buffer.append(Checksum.of(buffer.bytes, seed: SegmentHeader.magic))
    return Array(buffer.bytes)
  }

  /// The longest segment file: a value of the largest size with the longest head, which takes far less than 1 MiB.
  package static let largestFileByteCount = RecordHeader.largestPayload + 1 << 20

  /// Returns how far a segment's file of `byteCount` bytes may hold records: foreign bytes may have been appended
  /// to it.
  package static func bound(_ byteCount: Int, store: StoreID, segment: UInt64, head: SegmentHeader?) -> Int {
    let isOwn = head?.store == store && head?.segment == segment
    return min(byteCount, largestFileByteCount, isOwn ? head!.fileByteCount : .max)
  }

  /// Returns the bytes that an unreferenced segment file is charged for in the budget.
  package static func charge(of file: any File) throws(SystemError) -> Int {
    try file.status().chargedByteCount(atMost: largestFileByteCount)
  }

  /// Returns the name of a segment's file in `segments/`.
  package static func fileName(_ segment: UInt64) -> String { hexadecimal(segment) + ".segment" }

  /// Returns the segment whose file has this name; nil for every other spelling.
  package static func segment(ofFile name: String) -> UInt64? {
    guard name.utf8.count == 24, name.hasSuffix(".segment"), let id = UInt64(name.prefix(16), radix: 16),
      id < UInt64(1) << 62,
      fileName(id) == name
    else { return nil }
    return id
  }
}
