extension Reader {
  func contains(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source?) -> Bool {
    if gate.isClosed { return false }
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    return style.bytes.withUnsafeBytes { styleBytes in
      if let isThere = containsTrusted(url, styleBytes, hash, source) { return isThere }
      guard let (slot, pin) = catalog.pinRecord(url, styleBytes, hash) ?? pinRestored(url, styleBytes, hash) else {
        return false
      }
      defer { pin.release() }
      guard let header = catalog.record(at: slot.location, checks: false)?.header else { return false }
      return (source == nil || header.source == source) && !lifetimes.hasExpired(header.lifetime, slot)
    }
  }

  /// Answers from a record that was checked before. Returns nil if only a check can answer.
  private func containsTrusted(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, _ source: Source?
  ) -> Bool? {
    let found = catalog.keys.find(hash, style: style, counts: false, isAsked: false) { slot, _ in
      (slot, catalog.segments.pin(slot.location.slot))
    }
    guard let (slot, pin) = found else { return false }
    defer { pin.release() }
    guard isTrusted(slot),
      let glance = RecordGlance(catalog.segments.bytes(at: slot.location), url: url, style: style)
    else { return nil }
    let isThere = source.map { glance.has($0) } ?? true
    let hasExpired = glance.expiration != 0 || lifetimes.limitsAge ? lifetimes.hasExpired(glance.lifetime, slot) : false
    // Checked after all fields were read: zeros may have replaced them.
    return BusErrors.haveHappened ? nil : isThere && !hasExpired
  }

  /// Restores and pins the entry of a key whose record may be only in the log so far, as after a loss of power.
  func pinRestored(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) -> (KeySlot, Pin)? {
    guard checker.hasCarriedRecords else { return nil }
    endIfFound(borrow(url, style, hash, counts: false))
    return catalog.pinRecord(url, style, hash)
  }

  private func endIfFound(_ borrow: Borrow) {
    if borrow.isFound { endBorrow(borrow) }
  }

  private static let window = 8

  /// Works through the keys in windows: hashes all and prefetches their places in the table, then prefetches the
  /// records, then compares. The cache misses of each step overlap.
  func borrowMany<E: Error>(
    _ keys: [CacheKey], _ sources: [Source?], _ body: (Int, RawSpan?) throws(E) -> Void
  ) throws(E) {
    var hashes = [KeyHash](repeating: KeyHash(bits: 0), count: Reader.window)
    var start = 0
    while start < keys.count {
      let end = min(start + Reader.window, keys.count)
      // One bit for each key of the window.
      var sampled: UInt8 = 0
      for index in start..<end {
        let hash = keys[index].url.withUnsafeBytes { catalog.hasher.key($0, styleTag: keys[index].style.tag) }
        hashes[index - start] = hash
        if catalog.misses.follows(hash) { sampled |= 1 << (index - start) }
        catalog.keys.prefetch(hash)
      }
      for index in start..<end {
        _ = catalog.keys.find(hashes[index - start], counts: false) { catalog.segments.prefetch($0.location) }
      }
      for index in start..<end {
        let borrow = keys[index].url.withUnsafeBytes { url in
          keys[index].style.bytes.withUnsafeBytes {
            let (hash, source) = (hashes[index - start], index < sources.count ? sources[index] : nil)
            return sampled & 1 << (index - start) == 0
              ? self.borrow(url, $0, hash, source: source, counts: true) : self.sampledBorrow(url, $0, hash, source)
          }
        }
        if borrow.isFound {
          do throws(E) {
            try body(index, borrow.bytes.bytes)
          } catch {
            endBorrow(borrow)
            throw error
          }
          if !endBorrow(borrow) { entryRemover.dropDamaged(borrow) }
        } else {
          try body(index, nil)
        }
      }
      start = end
    }
  }
}
