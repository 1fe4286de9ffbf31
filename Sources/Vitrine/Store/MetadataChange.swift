// Metadata and expiry change without touching the payload: a new key record that names the same blob.
extension CacheStore {
  /// Replaces an entry's metadata; writes a small record and leaves the payload alone. False when there is no entry.
  @discardableResult
  public func setMetadata(
    _ metadata: [UInt8], for key: CacheKey, durability: Durability? = nil
  ) throws(StoreError) -> Bool {
    try change(key, .init(metadata: metadata), durability)
  }

  /// Replaces an entry's expiry (milliseconds since 1970, nil for never); as ``setMetadata(_:for:durability:)``.
  @discardableResult
  public func setExpiration(
    _ milliseconds: Int64?, for key: CacheKey, durability: Durability? = nil
  ) throws(StoreError) -> Bool {
    try change(key, .init(expiration: .some(milliseconds)), durability)
  }

  private func change(
    _ key: CacheKey, _ head: StoreCore.HeadChange, _ durability: Durability?
  ) throws(StoreError) -> Bool {
    try change {
      $0.forget([key])
    } _: { core throws(StoreError) in
      try key.url.span.bytes.withUnsafeBytes { url throws(StoreError) in
        try core.change(url, key.style, head, durability: durability)
      }
    }
  }
}

extension StoreCore {
  /// What the change does to an entry.
  struct HeadChange {
    var metadata: [UInt8]?
    /// `.some(nil)` makes the entry last for ever.
    var expiration: Int64??
  }

  /// False when the key is not there.
  func change(
    _ url: UnsafeRawBufferPointer, _ style: Style, _ change: HeadChange, durability: Durability?
  ) throws(StoreError) -> Bool {
    try requireWritable()
    try requireNamed(at: environment.clock.wallMilliseconds())
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
      if durability == .synced { try acknowledgeSynced(sequence) }
      return true
    }
  }

  /// Nil when there is no such entry; success with nil when it changed meanwhile.
  private func attempt(
    _ url: UnsafeRawBufferPointer, _ style: Style, _ styleBytes: UnsafeRawBufferPointer, _ change: HeadChange,
    _ durability: Durability
  ) -> Result<UInt64?, StoreError>? {
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    // The check of a first read, so that a synced change never vouches for a payload that is gone (rule 3).
    let borrow = borrow(url, styleBytes, hash, counts: false)
    guard borrow.isFound else { return nil }
    giveBack(borrow)
    guard let (slot, pin) = pinRecord(url, styleBytes, hash) else { return nil }
    defer { pin.release() }
    guard let view = catalog.record(at: slot.location, checks: true) else { return nil }
    let header = view.header
    // Seldom elsewhere than where the borrow has found it.
    let (isThere, payload) =
      pinnedPayload(of: header).map { (catalog.keys.find(hash, slot.location), $0) }
      ?? locked { (catalog.keys.find(hash, slot.location), catalog.payloadLocation(of: header)) }
    guard isThere else { return .success(nil) }
    guard let payload else {
      // An entry whose payload is listed nowhere: only a forged log makes one. No frame could ever share it.
      drop(hash, slot.location)
      return nil
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
        hash: hash, url: url, style: styleBytes, metadata: metadata, value: empty,
        logicalByteCount: header.logicalByteCount, stored: empty, digest: header.digest, encoding: header.encoding,
        layout: header.layout, expiration: expiration, isSliding: isSliding, isPageAligned: false,
        source: header.source, isSourceNamed: header.flags.contains(.namedSource))
      let shared = Shared(
        location: payload, origin: header.origin, storedByteCount: header.storedByteCount, encoding: header.encoding)
      do throws(StoreError) {
        var pending = try place(put, sharing: shared, durability: durability, written: header.written, isChange: true)
        pending.expected = slot.location
        return .success(try commit([pending], moreKeys: 1, awaitsSync: durability == .synced)?.sequence)
      } catch {
        return .failure(error)
      }
    }
  }

  /// Where a record's payload lies, looked up under no lock.
  private func pinnedPayload(of header: RecordHeader) -> Location? {
    guard let (payload, pin) = try? pinPayload(of: header, checks: false) else { return nil }
    pin.release()
    return payload
  }

  /// The entry of a key and a pin on its record.
  func pinRecord(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) -> (KeySlot, Pin)? {
    var skip = 0
    while let (slot, pin) = catalog.keys.find(
      hash, skip: skip, counts: false, { slot in (slot, self.catalog.segments.pin(slot.location.slot)) })
    {
      if let view = catalog.record(at: slot.location, checks: true), view.has(url: url, style: style) {
        return (slot, pin)
      }
      pin.release()
      skip += 1
    }
    return nil
  }
}
