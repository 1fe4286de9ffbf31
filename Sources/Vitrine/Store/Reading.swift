/// What a lookup found and holds: the payload's place, pinned, or nothing and why.
@usableFromInline
struct Borrow {
  enum Absence { case missing, expired, outdated, damaged, closed }

  @usableFromInline let start: UnsafeRawPointer?
  @usableFromInline let count: Int
  @usableFromInline let isFound: Bool
  let absence: Absence
  /// The head of the key's own record, for those who want more than bytes: valid until the borrow is given back unless
  /// the payload lies elsewhere.
  let pin: Pin
  let isDecompressed: Bool

  init(_ bytes: UnsafeRawBufferPointer, pin: Pin, isDecompressed: Bool) {
    start = bytes.baseAddress
    count = bytes.count
    isFound = true
    absence = .missing
    self.pin = pin
    self.isDecompressed = isDecompressed
  }

  init(_ absence: Absence) {
    start = nil
    count = 0
    isFound = false
    self.absence = absence
    pin = Pin(level: 0, address: 0)
    isDecompressed = false
  }

  @usableFromInline var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }
}

// How a get stays safe: the location is found and its segment pinned under one lock of one shard. Whoever takes a
// segment away first takes its last entry out under that same lock, and then waits until no thread has it pinned.
extension StoreCore {
  /// Finds the bytes of a key and holds them until ``giveBack(_:)``. The hit path takes one shard lock, one look at the
  /// record, and nothing else.
  func borrow(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source? = nil) -> Borrow {
    style.bytes.withUnsafeBytes {
      borrow(url, $0, catalog.hasher.key(url, styleTag: style.tag), source: source, counts: true)
    }
  }

  @inline(__always)
  func borrow(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, source: Source? = nil, counts: Bool
  ) -> Borrow {
    if isClosed { return Borrow(.closed) }
    let segments = catalog.segments
    guard
      let (slot, pin) = catalog.keys.find(
        hash, counts: counts, { slot in (slot, segments.pin(slot.location.slot)) })
    else { return Borrow(.missing) }
    if isTrusted(slot), let glance = RecordGlance(segments.bytes(at: slot.location), url: url, style: style) {
      if glance.expiration != 0 || limitsAge, hasExpired(glance.lifetime, slot) {
        pin.release()
        if counts { catalog.keys.correctHitToMiss(hash) }
        return Borrow(.expired)
      }
      if let source, !glance.has(source) {
        let drops = counts && glance.hasNamedSource
        let sequence = glance.sequence
        pin.release()
        if counts { catalog.keys.correctHitToMiss(hash) }
        if drops { dropOutdated(hash, slot.location, sequence: sequence) }
        return Borrow(.outdated)
      }
      if glance.carriesPayload, glance.encoding != Encoding.zstd.rawValue {
        return Borrow(glance.payload, pin: pin, isDecompressed: false)
      }
    }
    pin.release()
    let borrow = borrowSlowly(url, style, hash, source, counts)
    if counts, !borrow.isFound { catalog.keys.correctHitToMiss(hash) }
    return borrow
  }

  func giveBack(_ borrow: Borrow) {
    if borrow.isDecompressed {
      ThreadContext.current.releaseValue()
    } else {
      borrow.pin.release()
    }
  }

  /// Whether an entry may be read without a check.
  @inline(__always)
  private func isTrusted(_ slot: KeySlot) -> Bool {
    switch verification {
    case .firstRead: slot.flags.contains(.checked)
    case .always: false
    case .never: slot.flags.contains(.checked) || catalog.segments.isVouched(slot.location)
    }
  }

  // MARK: Everything but a plain, checked hit

  private func borrowSlowly(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, _ source: Source?, _ counts: Bool
  ) -> Borrow {
    // Tags may fit several entries, and a damaged one is dropped on the way, so: until nothing fits any more. A put
    // that comes between gives a new location, which is looked at too.
    var absence = Borrow.Absence.missing
    var skip = 0
    var turns = 0
    while turns < 1 << 20,
      let (slot, pin) = catalog.keys.find(
        hash, skip: skip, counts: false, { slot in (slot, self.catalog.segments.pin(slot.location.slot)) })
    {
      turns += 1
      let outcome = examine(slot, hash, url, style, source)
      switch outcome {
      case .otherKey:
        pin.release()
        skip += 1
      case .damaged:
        pin.release()
        absence = .damaged
        if !drop(hash, slot.location) { skip += 1 }
      case .expired:
        pin.release()
        return Borrow(.expired)
      case .outdated(let header):
        pin.release()
        if counts, header.flags.contains(.namedSource) {
          dropOutdated(hash, slot.location, sequence: header.sequence)
        }
        return Borrow(.outdated)
      case .own(let view):
        return lend(view.payload, view.header, pin)
      case .elsewhere(let header):
        pin.release()
        if let borrow = borrowShared(header, slot, hash) { return borrow }
        absence = .damaged
        if !drop(hash, slot.location) { skip += 1 }
      }
    }
    return Borrow(absence)
  }

  private enum Examination {
    case otherKey
    case damaged
    case expired
    case outdated(RecordHeader)
    case own(RecordView)
    case elsewhere(RecordHeader)
  }

  /// Looks at one pinned entry, checking its record first where nobody did.
  private func examine(
    _ slot: KeySlot, _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer,
    _ source: Source?
  ) -> Examination {
    if !isTrusted(slot) {
      var isOther = false
      let outcome = check(slot.location, readsPayload: true) { view in
        isOther = !view.has(url: url, style: style)
        return !isOther
      }
      if isOther { return .otherKey }
      guard case .intact(let header, _) = outcome else { return .damaged }
      if header.carriesPayload { catalog.keys.setChecked(hash, slot.location) }
    }
    guard let view = catalog.record(at: slot.location, checks: false) else { return .damaged }
    guard view.has(url: url, style: style) else { return .otherKey }
    if view.header.expiration != 0 || limitsAge, hasExpired(view.header.lifetime, slot) { return .expired }
    if let source, view.header.source != source { return .outdated(view.header) }
    return view.header.carriesPayload ? .own(view) : .elsewhere(view.header)
  }

  /// Checks a record through its file; one that fails is restored from the log when a frame carries it.
  func check(
    _ location: Location, readsPayload: Bool, withHead: (RecordView) -> Bool = { _ in true }
  ) -> RecordCheck.Outcome {
    guard let segment = catalog.segments.segment(location.slot), let file = segment.file else {
      return .damaged("its segment is gone")
    }
    let check = RecordCheck(
      file: file, seed: catalog.segments.seed(location), offset: location.offset,
      available: catalog.segments.bytes(at: location).count,
      firstSequence: catalog.segments.firstSequence(location.slot), digest: environment.digest)
    let outcome = check.run(readsPayload: readsPayload, withHead: withHead)
    guard case .damaged = outcome, restore(location, into: file) else { return outcome }
    return check.run(readsPayload: readsPayload, withHead: withHead)
  }

  /// Writes a record that a frame carries to its place: the same bytes that belong there, so no reader can mind.
  func restore(_ location: Location, into file: any File) -> Bool {
    if isReadOnly || inline.withLock({ $0[location] == nil }) { return false }
    return locked { writeBack(location, into: file) }
  }

  /// Under the commit lock. What the log holds is written only if it is the record of this very place.
  func writeBack(_ location: Location, into file: any File) -> Bool {
    guard let record = inline.withLock({ $0[location] }), let bytes = try? record.file.read(record.range),
      bytes.count == record.range.count,
      let segment = catalog.segments.segment(location.slot), location.offset + bytes.count <= segment.byteCount,
      bytes.withUnsafeBytes({ bytes in
        RecordHeader(bytes)?.isIntact(in: bytes, seed: catalog.segments.seed(location)) ?? false
      }),
      (try? file.write(bytes, at: location.offset)) != nil
    else { return false }
    segment.isDirty = true
    segment.owesSync = true
    return true
  }

  private func lend(_ stored: UnsafeRawBufferPointer, _ header: RecordHeader, _ pin: Pin) -> Borrow {
    guard header.encoding == .zstd else { return Borrow(stored, pin: pin, isDecompressed: false) }
    let value = ThreadContext.current.decompress(stored, byteCount: header.logicalByteCount)
    pin.release()
    guard let value else { return Borrow(.damaged) }
    return Borrow(value, pin: pin, isDecompressed: true)
  }

  /// The payload that another record carries.
  private func borrowShared(_ reference: RecordHeader, _ slot: KeySlot, _ hash: KeyHash) -> Borrow? {
    guard let (location, pin) = pinPayload(of: reference) else { return nil }
    let isTrustedHere = isTrusted(slot) && (slot.flags.contains(.checked) || catalog.segments.isVouched(location))
    if !isTrustedHere {
      guard case .intact = check(location, readsPayload: true) else {
        pin.release()
        return nil
      }
      catalog.keys.setChecked(hash, slot.location)
    }
    guard let view = catalog.record(at: location, checks: false) else {
      pin.release()
      return nil
    }
    return lend(view.payload, view.header, pin)
  }

  /// Finds and pins the record that carries a reference's payload: by digest and by the number of its first record.
  func pinPayload(of reference: RecordHeader) -> (Location, Pin)? {
    let content = catalog.hasher.content(reference.digest)
    var skip = 0
    while true {
      guard let (location, pin) = pinCandidate(content, skip: skip) else { return nil }
      if case .intact(let header, _) = check(location, readsPayload: false),
        header.digest == reference.digest, header.origin == reference.origin
      {
        return (location, pin)
      }
      pin.release()
      skip += 1
    }
  }

  /// Drops an entry that failed its check. False when it could not be (a read-only or failed store).
  @discardableResult
  func drop(_ hash: KeyHash, _ location: Location) -> Bool {
    let isLost = isFromBefore(location)
    if isReadOnly || (try? requireWritable()) == nil {
      let isGone = locked { () -> Bool in
        guard catalog.keys.find(hash, location) else { return true }
        catalog.dropUnread(hash, location)
        return true
      }
      count(lost: isLost)
      return isGone
    }
    do throws(StoreError) {
      if try removeDamaged(hash, location) { count(lost: isLost) }
      return true
    } catch {
      return false
    }
  }

  private func count(lost: Bool) {
    if lost {
      lostCount.wrappingAdd(1, ordering: .relaxed)
    } else {
      damagedCount.wrappingAdd(1, ordering: .relaxed)
    }
  }

  /// Whether nothing ever vouched for a record that an earlier opening wrote: then it is lost, not damaged.
  func isFromBefore(_ location: Location) -> Bool {
    !catalog.segments.isVouched(location) && catalog.segments.firstSequence(location.slot) < firstSequence
      && lastOpen.kind != .clean
  }

  /// What there is to know of a key.
  func lookup(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source?) -> LookupResult {
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    return style.bytes.withUnsafeBytes { styleBytes in
      let borrow = borrow(url, styleBytes, hash, source: source, counts: false)
      guard borrow.isFound else {
        return switch borrow.absence {
        case .missing: LookupResult.missing
        case .expired: .expired
        case .outdated: .outdated
        case .damaged: .damaged
        case .closed: .closed
        }
      }
      giveBack(borrow)
      guard let info = info(url, styleBytes, hash) else { return .missing }
      return .found(info)
    }
  }

  /// The entry of a key, from its record alone.
  func info(_ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash) -> EntryInfo? {
    var skip = 0
    while let (slot, pin) = catalog.keys.find(
      hash, skip: skip, counts: false, { slot in (slot, self.catalog.segments.pin(slot.location.slot)) })
    {
      defer { pin.release() }
      if let view = catalog.record(at: slot.location, checks: true), view.has(url: url, style: style) {
        return EntryInfo(view)
      }
      skip += 1
    }
    return nil
  }
}

extension EntryInfo {
  init(_ view: RecordView) {
    let header = view.header
    let style = Array(view.style)
    self.init(
      key: CacheKey(
        bytes: Array(view.url), Style(valid: style, name: String(decoding: style, as: UTF8.self))),
      digest: header.digest, encoding: header.encoding, layout: header.layout, byteCount: header.logicalByteCount,
      storedByteCount: header.storedByteCount, metadata: Array(view.metadata), writtenMilliseconds: header.written,
      expirationMilliseconds: header.expiration == 0 || header.flags.contains(.sliding) ? nil : header.expiration,
      slidingExpirationMilliseconds: header.flags.contains(.sliding) ? header.expiration : nil,
      source: header.source, hasNamedSource: header.flags.contains(.namedSource), isShared: !header.carriesPayload)
  }
}
