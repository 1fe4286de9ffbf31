/// Finds a stored blob with the same bytes, so that equal bytes are stored once. A digest only names candidates:
/// encoding class, layout and length must agree, and the bytes are compared.
final class Deduplicator: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checker: RecordChecker
  private let payloads: PayloadFinder

  init(_ context: StoreContext, gate: WriteGate, checker: RecordChecker, payloads: PayloadFinder) {
    self.context = context
    self.gate = gate
    self.checker = checker
    self.payloads = payloads
  }

  /// Returns a stored blob with these bytes, or nil and the candidates that were compared and cannot be shared.
  func findShared(_ put: PreparedPut) -> (shared: Shared?, others: [Location]) {
    let content = catalog.hasher.content(put.payload.digest)
    var others = PassedEntries()
    while true {
      guard let candidate = catalog.pinCandidate(content, besides: others) else { return (nil, others.locations) }
      defer { candidate.pin.release() }
      if let shared = compare(put, candidate.location, candidate.pin) { return (shared, []) }
      others.add(candidate.location)
    }
  }

  private func compare(_ put: PreparedPut, _ location: Location, _ pin: Pin) -> Shared? {
    if gate.mistrustsEarlierRecords, checker.isFromBefore(location) { return nil }
    guard let view = catalog.record(at: location, checks: true) else { return nil }
    let header = view.header
    guard header.carriesPayload, header.digest == put.payload.digest,
      header.logicalByteCount == put.payload.logicalByteCount,
      header.layout == put.payload.layout, (header.encoding == .bitmap) == (put.payload.layout != nil),
      !put.isPageAligned || header.flags.contains(.pageAligned)
    else { return nil }
    guard header.encoding != .zstd, let stored = view.payload else {
      guard let value = payloads.copyToThread(view, pin) else { return nil }
      defer { ThreadContext.current.releaseValue() }
      return equalBytes(value, put.payload.value) ? shared(header, location) : nil
    }
    // Zeros that replace a page which could not be read may equal the bytes of the put, but are not on the disk.
    return equalBytes(stored, put.payload.value) && !catalog.isDamaged(stored, pin) ? shared(header, location) : nil
  }

  private func shared(_ header: RecordHeader, _ location: Location) -> Shared {
    Shared(
      location: location, origin: header.origin, storedByteCount: header.storedByteCount, encoding: header.encoding)
  }

  private func equalBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    a.count == b.count && (a.count == 0 || memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0)
  }
}
