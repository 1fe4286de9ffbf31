/// Reads parts of large values through their files, in bounded memory, and checks only the pieces of the record that it
/// reads.
///
/// The head of a record with a payload above 1 MiB has a checksum for each piece of 256 KiB. A compressed value is
/// decompressed from its start, because zstd can begin nowhere else.
final class RangeReader: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let lifetimes: Lifetimes
  private let payloads: PayloadFinder
  private let reader: Reader

  init(
    _ context: StoreContext, gate: WriteGate, lifetimes: Lifetimes, payloads: PayloadFinder, reader: Reader
  ) {
    self.context = context
    self.gate = gate
    self.lifetimes = lifetimes
    self.payloads = payloads
    self.reader = reader
  }

  /// Returns the part of a value, cut at the value's end, and notes a use. Returns nil if an ordinary get serves the
  /// call as well, or if the value cannot be read. An ordinary get then finds the cause.
  func read(
    _ range: Range<Int>, of url: UnsafeRawBufferPointer, _ style: Style, source: Source?
  ) -> [UInt8]? {
    // A digest that tests plant is not computed in pieces.
    if gate.isClosed || environment.digest != nil { return nil }
    return style.bytes.withUnsafeBytes { styleBytes in
      let hash = catalog.hasher.key(url, styleTag: style.tag)
      guard let (slot, pin) = catalog.pinRecord(url, styleBytes, hash) else { return nil }
      defer { pin.release() }
      guard let header = catalog.record(at: slot.location, checks: false)?.header,
        header.logicalByteCount > RecordHeader.pieceThreshold, source == nil || source == header.source,
        !lifetimes.hasExpired(header.lifetime, slot), let part = part(range, of: header, slot, hash)
      else { return nil }
      noteUse(hash, styleBytes)
      return part
    }
  }

  private func noteUse(_ hash: KeyHash, _ style: UnsafeRawBufferPointer) {
    let found = catalog.keys.find(hash, style: style, counts: true, isAsked: false) { slot, _ in slot }
    if let found, !catalog.keys.stampsAtOnce(found, isAsked: false) { lifetimes.noteUse(hash, found.location) }
  }

  private func part(_ range: Range<Int>, of header: RecordHeader, _ slot: KeySlot, _ hash: KeyHash) -> [UInt8]? {
    let range = range.clamped(to: 0..<header.logicalByteCount)
    if header.carriesPayload { return part(range, at: slot.location, slot, hash) }
    guard let (location, pin) = try? payloads.pinPayload(of: header, checks: false) else { return nil }
    defer { pin.release() }
    return part(range, at: location, slot, hash)
  }

  /// Reads from the record that carries the payload, which is pinned.
  private func part(_ range: Range<Int>, at location: Location, _ slot: KeySlot, _ hash: KeyHash) -> [UInt8]? {
    guard let view = catalog.record(at: location, checks: true), let file = try? catalog.file(location.slot) else {
      return nil
    }
    let payload = StoredPayload(
      file: file, offset: location.offset + view.header.payloadOffset, header: view.header,
      pieces: view.header.pieces(in: view.bytes))
    if view.header.encoding != .zstd {
      // A checked value in mapped memory is copied from there.
      return reader.isTrusted(slot) && reads == .mapped ? nil : payload.plain(range)
    }
    if !payload.pieces.isEmpty || reader.isTrusted(slot) { return payload.decompressed(range, checksAll: false) }
    guard let part = payload.decompressed(range, checksAll: true) else { return nil }
    catalog.keys.setChecked(hash, slot.location)
    return part
  }
}

/// The payload of a record in its file.
private struct StoredPayload {
  let file: any File
  /// Where it begins in the file.
  let offset: Int
  let header: RecordHeader
  /// The checksum of each piece; empty for a small payload.
  let pieces: [UInt64]

  private var pieceCount: Int { RecordHeader.pieceCount(header.storedByteCount) }

  /// Reads a piece of the stored bytes. Returns false if it cannot be read whole, or fails its check.
  private func read(_ index: Int, into buffer: ByteBuffer) -> Bool {
    let start = index * RecordHeader.pieceByteCount
    let count = min(RecordHeader.pieceByteCount, header.storedByteCount - start)
    guard (try? file.read(into: buffer, count: count, at: offset + start)) != nil, buffer.count == count else {
      return false
    }
    return pieces.isEmpty || (index < pieces.count && Checksum.of(buffer.bytes, seed: UInt64(index)) == pieces[index])
  }

  /// Returns a part of a value that is stored as it is.
  func plain(_ range: Range<Int>) -> [UInt8]? {
    guard !pieces.isEmpty else { return nil }
    var result: [UInt8] = []
    if range.isEmpty { return result }
    result.reserveCapacity(range.count)
    let buffer = ByteBuffer()
    let size = RecordHeader.pieceByteCount
    for index in range.lowerBound / size...(range.upperBound - 1) / size {
      guard read(index, into: buffer) else { return nil }
      let wanted = range.clamped(to: index * size..<index * size + buffer.count)
      result += buffer.bytes[wanted.lowerBound - index * size..<wanted.upperBound - index * size]
    }
    return result
  }

  /// Returns a part of a compressed value. With `checksAll`, decompresses all of it, and compares the digest.
  func decompressed(_ range: Range<Int>, checksAll: Bool) -> [UInt8]? {
    guard let stream = StreamDecompressor() else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(range.count)
    var digest: DigestStream? = DigestStream()
    var done = 0
    var outcome = StreamDecompressor.Outcome.unfinished
    let buffer = ByteBuffer()
    for index in 0..<pieceCount where outcome == .unfinished {
      guard read(index, into: buffer) else { return nil }
      outcome = stream.append(buffer.bytes) { piece in
        let wanted = range.clamped(to: done..<done + piece.count)
        result += piece[wanted.lowerBound - done..<wanted.upperBound - done]
        done += piece.count
        if checksAll { digest?.update(piece) }
        return done <= header.logicalByteCount && (checksAll || done < range.upperBound)
      }
    }
    guard result.count == range.count, outcome != .failed else { return nil }
    if !checksAll { return result }
    guard done == header.logicalByteCount, let whole = digest.take() else { return nil }
    return whole.finish() == header.digest ? result : nil
  }
}
