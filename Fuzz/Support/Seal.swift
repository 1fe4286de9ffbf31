@testable import Vitrine

/// Puts valid checksums on invalid content, so that the code behind the checksums is tested too. Lengths and places
/// are taken from the content as far as they make sense; the rest stays unchanged.
package enum Seal {
  /// A file of a store, by its path in it. Content without a checksum stays unchanged.
  package static func file(_ path: String, _ bytes: inout [UInt8], store: StoreID) {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    if name == CacheFormat.storeFile {
      storeFile(&bytes)
    } else if name == CacheFormat.countersFile {
      sum(&bytes, of: 0..<504, at: 504, seed: word(bytes, 0))
    } else if name.hasSuffix(".checkpoint") {
      checkpoint(&bytes)
    } else if name.hasSuffix(".wal") {
      log(&bytes)
    } else if let id = SegmentHeader.segment(ofFile: name) {
      segment(&bytes, store: store, id: id)
    }
  }

  package static func storeFile(_ bytes: inout [UInt8]) {
    for copy in [0, StoreIdentity.secondCopy] { identity(&bytes, at: copy) }
  }

  package static func identity(_ bytes: inout [UInt8], at offset: Int) {
    sum(&bytes, of: offset..<offset + 504, at: offset + 504, seed: StoreIdentity.magic)
  }

  package static func checkpoint(_ bytes: inout [UInt8]) {
    identity(&bytes, at: 512)
    guard bytes.count >= 1024 else { return }
    put(bytes.withUnsafeBytes { CheckpointHeader.checksum($0) }, &bytes, at: 504)
    put(bytes.withUnsafeBytes { CheckpointHeader.firstChecksum($0) }, &bytes, at: 160)
    let (store, generation) = (StoreID(low: word(bytes, 16), high: word(bytes, 24)), word(bytes, 32))
    var start = CheckpointHeader.byteCount
    var index = 0
    while start + 16 <= bytes.count {
      let end = min(start + CheckpointHeader.blockByteCount, bytes.count)
      let words = min(Int(word(bytes, start + 8) >> 32), (end - start - 16) / 8)
      sum(
        &bytes, of: start + 8..<start + 16 + words * 8, at: start,
        seed: CheckpointHeader.blockSeed(store, generation: generation, index: index))
      start += CheckpointHeader.blockByteCount
      index += 1
    }
  }

  /// The head, and all frames that follow each other by their lengths.
  package static func log(_ bytes: inout [UInt8]) {
    sum(&bytes, of: 0..<120, at: 120, seed: WALFileHeader.magic)
    let seed = word(bytes, 40)
    var offset = WALFileHeader.frameStart
    while let length = frame(&bytes, at: offset, seed: seed) { offset += length }
  }

  /// Returns the frame's length; nil if no frame is possible.
  @discardableResult
  package static func frame(_ bytes: inout [UInt8], at offset: Int, seed: UInt64) -> Int? {
    guard offset + Frame.headerByteCount <= bytes.count else { return nil }
    let length = Int(word(bytes, offset) >> 32)
    guard length >= Frame.headerByteCount, length % 8 == 0, length <= bytes.count - offset else { return nil }
    let value = bytes.withUnsafeBytes {
      Checksum.of(
        UnsafeRawBufferPointer(rebasing: $0[offset..<offset + 16]),
        UnsafeRawBufferPointer(rebasing: $0[offset + 24..<offset + length]),
        seed: Checksum.seed(seed, UInt64(offset)))
    }
    put(value, &bytes, at: offset + 16)
    return length
  }

  /// The head, and every record after it.
  package static func segment(_ bytes: inout [UInt8], store: StoreID, id: UInt64) {
    sum(&bytes, of: 0..<120, at: 120, seed: SegmentHeader.magic)
    var offset = SegmentHeader.byteCount
    while offset + RecordHeader.fixedByteCount <= bytes.count {
      offset += record(&bytes, at: offset, store: store, id: id) ?? Unit.byteCount
    }
  }

  /// Returns the record's length; nil if no head can be read.
  @discardableResult
  package static func record(_ bytes: inout [UInt8], at offset: Int, store: StoreID, id: UInt64) -> Int? {
    guard let header = bytes.withUnsafeBytes({ RecordHeader(UnsafeRawBufferPointer(rebasing: $0[offset...])) })
    else { return nil }
    let payload = offset + header.payloadOffset
    if header.carriesPayload, header.encoding != .zstd {
      let digest = bytes.withUnsafeBytes {
        Digest(of: UnsafeRawBufferPointer(rebasing: $0[payload..<payload + header.storedByteCount]))
      }
      put(digest.low, &bytes, at: offset + 32)
      put(digest.high, &bytes, at: offset + 40)
    }
    let value = bytes.withUnsafeBytes {
      Checksum.of(
        UnsafeRawBufferPointer(rebasing: $0[offset..<offset + 8]),
        UnsafeRawBufferPointer(rebasing: $0[offset + 16..<offset + header.endOfHead]),
        seed: RecordHeader.seed(store: store, segment: id, offset: offset))
    }
    put(value, &bytes, at: offset + 8)
    return header.byteCount
  }

  // MARK: Words

  package static func word(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
    guard offset >= 0, offset + 8 <= bytes.count else { return 0 }
    return (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * $1) }
  }

  package static func put(_ value: UInt64, _ bytes: inout [UInt8], at offset: Int) {
    guard offset >= 0, offset + 8 <= bytes.count else { return }
    for place in 0..<8 { bytes[offset + place] = UInt8(truncatingIfNeeded: value >> (8 * place)) }
  }

  private static func sum(_ bytes: inout [UInt8], of range: Range<Int>, at offset: Int, seed: UInt64) {
    guard range.upperBound <= bytes.count else { return }
    put(
      bytes.withUnsafeBytes { Checksum.of(UnsafeRawBufferPointer(rebasing: $0[range]), seed: seed) }, &bytes, at: offset
    )
  }
}
