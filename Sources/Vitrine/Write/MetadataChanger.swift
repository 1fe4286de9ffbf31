/// Changes the metadata and the expiry of an entry without its payload.
final class MetadataChanger: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let syncer: Syncer
  private let payloads: PayloadFinder
  private let entryRemover: EntryRemover
  private let committer: Committer
  private let reader: Reader
  private let putter: Putter

  init(
    _ context: StoreContext, gate: WriteGate, syncer: Syncer, payloads: PayloadFinder, entryRemover: EntryRemover,
    committer: Committer, reader: Reader, putter: Putter
  ) {
    self.context = context
    self.gate = gate
    self.syncer = syncer
    self.payloads = payloads
    self.entryRemover = entryRemover
    self.committer = committer
    self.reader = reader
    self.putter = putter
  }

  /// Changes an entry. Returns false if the key is not in the store. Throws `invalidArgument` for metadata that are too
  /// long.
  func change(
    _ url: UnsafeRawBufferPointer, _ style: Style, _ change: HeadChange, durability: Durability?
  ) throws(StoreError) -> Bool {
    try gate.requireWritable()
    try gate.requireNamed(at: environment.clock.wallMilliseconds())
    if let count = change.metadata?.count, count > RecordHeader.largestMetadata {
      throw .invalidArgument("metadata has at most \(RecordHeader.largestMetadata) bytes, not \(count)")
    }
    let durability = durability ?? identity.durability
    let styleBytes = Array(style.bytes)
    while true {
      let result: Result<UInt64?, StoreError>? = styleBytes.withUnsafeBytes { styleBytes in
        attempt(url, style, styleBytes, change, durability)
      }
      guard let result else { return false }
      guard let sequence = try result.get() else { continue }
      if durability == .synced { try syncer.acknowledgeSynced(sequence) }
      return true
    }
  }

  /// Makes one attempt. Returns nil if there is no such entry, and success with nil if the entry changed meanwhile.
  private func attempt(
    _ url: UnsafeRawBufferPointer, _ style: Style, _ styleBytes: UnsafeRawBufferPointer, _ change: HeadChange,
    _ durability: Durability
  ) -> Result<UInt64?, StoreError>? {
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    // The entry is checked as by a first read, so a synced change never vouches for a payload that is gone (rule 3).
    let borrow = reader.borrow(url, styleBytes, hash, counts: false)
    guard borrow.isFound else { return nil }
    reader.endBorrow(borrow)
    guard let (slot, pin) = catalog.pinRecord(url, styleBytes, hash) else { return nil }
    defer { pin.release() }
    guard let view = catalog.record(at: slot.location, checks: true) else { return nil }
    let header = view.header
    // The payload rarely moves after the borrow, so the first look takes no lock.
    var payload = pinnedPayload(of: header)
    var isThere = catalog.keys.find(hash, slot.location)
    if payload == nil {
      (isThere, payload) = commitLock.withLock { _ in
        (catalog.keys.find(hash, slot.location), catalog.payloadLocation(of: header))
      }
    }
    guard isThere else { return .success(nil) }
    guard let payload else {
      // No table lists the payload of this entry. Only a forged log makes such an entry, and no frame could ever share
      // it.
      entryRemover.drop(hash, slot.location)
      return nil
    }
    // A buffered change that changes nothing needs no record. A synced one also promises that the entry is durable,
    // which it may not be.
    if durability == .buffered, change.isPinned == slot.flags.contains(.pinned), change.metadata == nil,
      change.expiration == nil
    {
      return .success(0)
    }
    let metadata = change.metadata ?? Array(view.metadata)
    var expiration = header.expiration
    var isSliding = header.flags.contains(.sliding)
    if let given = change.expiration {
      expiration = given.map { $0 == 0 ? 1 : $0 } ?? 0
      isSliding = false
    }
    return metadata.withUnsafeBytes { metadata in
      let empty = UnsafeRawBufferPointer(start: nil, count: 0)
      let put = PreparedPut(
        key: OperationKey(hash: hash, url: url, style: styleBytes), metadata: metadata,
        payload: PreparedPayload(
          value: empty, logicalByteCount: header.logicalByteCount, stored: empty, digest: header.digest,
          encoding: header.encoding, layout: header.layout),
        source: PutSource(given: header.source, isNamed: header.flags.contains(.namedSource)), expiration: expiration,
        isSliding: isSliding, isPageAligned: false,
        isPinned: change.isPinned ?? slot.flags.contains(.pinned))
      let shared = Shared(
        location: payload, origin: header.origin, storedByteCount: header.storedByteCount, encoding: header.encoding)
      do throws(StoreError) {
        var pending = try putter.place(
          put, sharing: shared, durability: durability, written: header.written, isChange: true)
        pending.expected = ExpectedEntry(slot.location, catalog.segments)
        return .success(try committer.commit([pending], moreKeys: 1, awaitsSync: durability == .synced)?.sequence)
      } catch {
        return .failure(error)
      }
    }
  }

  /// Returns the location of a record's payload, looked up under no lock.
  private func pinnedPayload(of header: RecordHeader) -> Location? {
    guard let (payload, pin) = try? payloads.pinPayload(of: header, checks: false) else { return nil }
    pin.release()
    return payload
  }
}

/// The change of an entry; nil leaves a field as it is.
struct HeadChange {
  var metadata: [UInt8]?
  /// Milliseconds since 1970; `.some(nil)` ends the expiry.
  var expiration: Int64??
  var isPinned: Bool?
}
