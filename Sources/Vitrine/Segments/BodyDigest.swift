import CVitrineSystem

/// Digest and piece checksums of a payload that arrives in pieces of any size. Has one owner; use from one thread
/// at a time.
final class BodyDigest {
  private var digest: DigestStream? = DigestStream()
  /// The state of the current piece. If memory was short, it is nil, and the writer of the head computes the checksums.
  private let piece = vitrine_digest_begin()
  private var pieceFilled = 0
  private var pieces: [UInt64] = []

  init() { restartPiece() }
  deinit { if let piece { _ = vitrine_digest_end(piece) } }

  func update(_ bytes: UnsafeRawBufferPointer) {
    digest?.update(bytes)
    guard let piece else { return }
    var rest = bytes
    while rest.count > 0 {
      let count = min(rest.count, RecordHeader.pieceByteCount - pieceFilled)
      vitrine_checksum_update(piece, rest.baseAddress, count)
      pieceFilled += count
      if pieceFilled == RecordHeader.pieceByteCount { endPiece() }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  /// Returns the digest, nil if memory was short, and a checksum for each piece. Call it once.
  func finish() -> (digest: Digest?, pieces: [UInt64]) {
    if pieceFilled > 0 { endPiece() }
    guard let stream = digest.take() else { return (nil, pieces) }
    return (stream.finish(), pieces)
  }

  private func endPiece() {
    guard let piece else { return }
    pieces.append(vitrine_checksum_value(piece))
    pieceFilled = 0
    restartPiece()
  }

  private func restartPiece() {
    if let piece { vitrine_checksum_restart(piece, UInt64(pieces.count)) }
  }
}
