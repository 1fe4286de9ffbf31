// A retained get finds and pins the value like a borrowed one. Then a reference to the segment replaces the pin. If no
// reference can be taken, the value is copied.
extension Reader {
  /// Returns nil if there is no value, if its file cannot be opened now, or if there is no memory for a copy.
  func blob(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source?) -> Blob? {
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    return style.bytes.withUnsafeBytes { style in
      var counts = true
      while true {
        let borrow =
          counts ? countedBorrow(url, style, hash, source) : borrow(url, style, hash, source: source, counts: false)
        guard borrow.isFound else { return nil }
        let head = catalog.keys.withEntry(hash, borrow.location) { _ in catalog.segments.pin(borrow.location.slot) }
        var blob: Blob?
        var isDamaged = false
        if let head {
          do throws(SystemError) {
            (blob, isDamaged) = try retain(borrow)
          } catch {
            // The file cannot be opened now: a miss, but no entry is dropped.
          }
          head.release()
        }
        if !endBorrow(borrow) { isDamaged = true }
        if isDamaged {
          entryRemover.dropDamaged(borrow)
          return nil
        }
        if head != nil { return blob }
        // The entry was replaced or moved between the two looks, so look again.
        counts = false
      }
    }
  }

  /// Makes a `Blob` of a borrowed payload. The key's own record must be pinned.
  private func retain(_ borrow: Borrow) throws(SystemError) -> (blob: Blob?, isDamaged: Bool) {
    guard let view = try catalog.openRecord(at: borrow.location, checks: true),
      view.header.logicalByteCount == borrow.count
    else { return (nil, true) }
    let blob = hold(borrow).map { Blob($0, of: view, digestOf: environment.digest) }
    return (blob, catalog.segments.isDamaged(view.head, slot: borrow.location.slot))
  }

  private func hold(_ borrow: Borrow) -> Blob.Memory? {
    if !borrow.isCopied, borrow.count > 0, let start = borrow.start,
      let hold = catalog.segments.storage(of: borrow.pin)?.hold(limit: mostHeldBytes)
    {
      return .segment(hold, start)
    }
    // A value of 4 KiB or more may have been put page-aligned, and its copy stays so. Copies of smaller values do not.
    let alignment = borrow.count >= 4096 ? 4096 : Unit.byteCount
    return OwnedBytes(copying: borrow.bytes, alignment: alignment).map { .copy($0) }
  }
}

extension Reader {
  /// Finds a key's entry for a change that depends on it, and checks it as a first read does. Returns the ended borrow,
  /// or nil if there is no valid entry. Throws `closed`, and `system` if the entry's file cannot be opened now.
  private func borrowForChange(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) throws(StoreError) -> Borrow? {
    let borrow = borrow(url, style, hash, counts: false)
    switch borrow.outcome {
    case .closed: throw .closed
    case .unavailable:
      throw .system(SystemError(code: SystemError.again, operation: "read", path: "the entry of the key"))
    case .missing, .expired, .outdated, .damaged: return nil
    case .inPlace, .copied:
      endBorrow(borrow)
      return borrow
    }
  }

  /// Pins the entry of a key for a change that depends on it. The entry is checked as by a first read, and dropped if
  /// it is damaged. `isReadable`: whether the check found the entry; false for one that has expired, and for one that
  /// was put meanwhile. Returns nil if there is no entry. Throws like ``borrowForChange(_:_:_:)``, and `system` if a
  /// damaged head cannot be dropped.
  func pinForChange(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) throws(StoreError) -> (slot: KeySlot, pin: Pin, isReadable: Bool)? {
    for _ in 0..<Reader.mostLooks {
      let borrow = try borrowForChange(url, style, hash)
      if let (slot, pin) = try pinOpened(url, style, hash) { return (slot, pin, borrow != nil) }
      guard let borrow else { return nil }
      // The head of a record that was checked before is damaged by now. The commit must not find it either.
      entryRemover.drop(borrow.hash, borrow.location)
    }
    throw .system(SystemError(code: SystemError.ioError, operation: "read", path: "the entry of the key"))
  }

  /// Like ``Catalog/pinRecord(_:_:_:)``, but throws if the file of a record cannot be opened now.
  private func pinOpened(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash
  ) throws(StoreError) -> (KeySlot, Pin)? {
    var passed = PassedEntries()
    while let (slot, pin) = catalog.pinEntry(hash, besides: passed) {
      do throws(SystemError) {
        if let view = try catalog.openRecord(at: slot.location, checks: true), view.has(url: url, style: style) {
          return (slot, pin)
        }
      } catch {
        pin.release()
        throw .system(error)
      }
      pin.release()
      passed.add(slot.location)
    }
    return nil
  }

  /// The most times that a change looks for its entry.
  static let mostLooks = 8
}

// Every counted get is offered to the sample of requests (``MissSampler``). Most keys are not sampled. For them, the
// offer only compares the key's hash with the threshold of the sample.
extension Reader {
  /// Borrows the bytes of a key for a get that counts.
  @inline(__always)
  func countedBorrow(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, _ source: Source?
  ) -> Borrow {
    if Unmanaged.passUnretained(catalog.misses)._withUnsafeGuaranteedRef({ $0.follows(hash) }) {
      return sampledBorrow(url, style, hash, source)
    }
    return borrow(url, style, hash, source: source, counts: true)
  }

  /// The same for a key that the sample follows: counts the request there once its result is known.
  @inline(never)
  func sampledBorrow(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, _ source: Source?
  ) -> Borrow {
    let found = borrow(url, style, hash, source: source, counts: true)
    // In a forked child, the lock of the sample may be held forever.
    if gate.isForkedChild { return found }
    let result: MissSample.Outcome
    switch found.outcome {
    case .inPlace, .copied: result = .hit(byteCount: found.count)
    case .missing, .damaged, .unavailable: result = .missing
    case .expired, .outdated: result = .outdated
    case .closed: return found
    }
    catalog.misses.noteRequest(hash, result) { environment.clock.wallMilliseconds() }
    return found
  }
}
