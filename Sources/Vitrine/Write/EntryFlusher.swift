/// Makes single entries durable.
final class EntryFlusher: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let syncer: Syncer
  private let payloads: PayloadFinder
  private let reader: Reader

  init(_ context: StoreContext, gate: WriteGate, syncer: Syncer, payloads: PayloadFinder, reader: Reader) {
    self.context = context
    self.gate = gate
    self.syncer = syncer
    self.payloads = payloads
    self.reader = reader
  }

  /// Makes the key's record, its payload, and then every frame written so far durable: the frame that names the record
  /// is one of them, because the index had the record. Returns false if there is no entry. Throws `system` if the entry
  /// cannot be read now.
  func flush(_ url: UnsafeRawBufferPointer, _ style: Style) throws(StoreError) -> Bool {
    try gate.requireWritable()
    guard let wal else { throw .readOnly }
    let isThere = try style.bytes.span.bytes.withUnsafeBytes { styleBytes throws(StoreError) in
      try syncRecord(url, styleBytes, catalog.hasher.key(url, styleTag: style.tag))
    }
    try syncer.acknowledgeSynced(wal.appendedSequence - 1)
    return isThere
  }

  /// Makes the bytes of a key's record and of its payload durable. Returns false if there is no entry.
  private func syncRecord(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) throws(StoreError) -> Bool {
    for _ in 0..<Reader.mostLooks {
      // Checked as by a first read: a durable frame must not vouch for a payload that is gone (rule 3).
      guard let (slot, pin, isReadable) = try reader.pinForChange(url, style, hash) else { return false }
      defer { pin.release() }
      guard isReadable else { return false }
      try syncer.makeDurable(payloadAt: slot.location)
      guard let header = catalog.record(at: slot.location, checks: false)?.header, !header.carriesPayload else {
        return true
      }
      // If no payload is found, the entry was replaced or its payload was moved since the lookup. The next pass of the
      // loop finds it.
      if try syncPayload(of: header) { return true }
    }
    throw .system(SystemError(code: SystemError.ioError, operation: "read", path: "the entry of the key"))
  }

  private func syncPayload(of reference: RecordHeader) throws(StoreError) -> Bool {
    let found: (location: Location, pin: Pin)?
    do throws(SystemError) {
      found = try payloads.pinPayload(of: reference, checks: false)
    } catch {
      throw .system(error)
    }
    guard let found else { return false }
    defer { found.pin.release() }
    try syncer.makeDurable(payloadAt: found.location)
    return true
  }
}
