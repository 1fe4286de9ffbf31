import Synchronization

/// Finds the bytes of keys and borrows them for the caller.
///
/// A get finds the location and pins its segment under one lock, that of one shard. A segment is removed only after its
/// last entry was removed under that same lock, and after no thread has the segment pinned any more.
final class Reader: StorePart {
  let context: StoreContext
  let gate: WriteGate
  let lifetimes: Lifetimes
  let checker: RecordChecker
  private let payloads: PayloadFinder
  let entryRemover: EntryRemover
  private let mappedSegments: MappedSegments
  let catalog: Catalog
  private let verification: Verification
  /// Whether the eviction order counts hits.
  private let countsHits: Bool
  private let limitsAge: Bool
  private let blobLimit: Atomic<Int>

  init(
    _ context: StoreContext, gate: WriteGate, lifetimes: Lifetimes, checker: RecordChecker, payloads: PayloadFinder,
    entryRemover: EntryRemover, mappedSegments: MappedSegments
  ) {
    self.context = context
    self.gate = gate
    self.lifetimes = lifetimes
    self.checker = checker
    self.payloads = payloads
    self.entryRemover = entryRemover
    self.mappedSegments = mappedSegments
    catalog = context.catalog
    verification = context.opening.verification
    countsHits = context.opening.policyRules.countsHits
    limitsAge = lifetimes.limitsAge
    blobLimit = Atomic(Reader.blobLimit(budget: context.opening.identity.byteBudget))
  }

  /// The most bytes of segments that `Blob`s may hold.
  var mostHeldBytes: Int { blobLimit.load(ordering: .relaxed) }

  /// Adapts ``mostHeldBytes`` to a changed budget.
  func limitBlobs(budget: Int) { blobLimit.store(Reader.blobLimit(budget: budget), ordering: .relaxed) }

  /// An eighth of the budget.
  private static func blobLimit(budget: Int) -> Int { budget / 8 }

  /// Finds the bytes of a key and pins them until ``endBorrow(_:)``. A hit takes one shard lock, looks once at the
  /// record, and does nothing else.
  @inline(__always)
  func borrow(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source? = nil) -> Borrow {
    style.bytes.withUnsafeBytes {
      let hash = catalog.hasher.key(url, styleTag: style.tag)
      return countedBorrow(url, $0, hash, source)
    }
  }

  @inline(__always)
  func borrow(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, source: Source? = nil, counts: Bool
  ) -> Borrow {
    // The store keeps its parts and tables alive. A hit counts no references to them, because all readers would share
    // the count.
    let lifetimes = Unmanaged.passUnretained(lifetimes)
    if Unmanaged.passUnretained(gate)._withUnsafeGuaranteedRef({ $0.isClosed }) { return Borrow(.closed) }
    if counts, countsHits { lifetimes._withUnsafeGuaranteedRef { $0.noteUseTime() } }
    let segments = Unmanaged.passUnretained(catalog.segments)
    let keys = Unmanaged.passUnretained(catalog.keys)
    let found = keys._withUnsafeGuaranteedRef {
      $0.find(hash, style: style, counts: counts, isAsked: source != nil) { slot, stamp in
        (slot, stamp, segments._withUnsafeGuaranteedRef { $0.pin(slot.location.slot) })
      }
    }
    guard let (slot, stamp, pin) = found else { return Borrow(.missing) }
    if isTrusted(slot),
      let glance = RecordGlance(
        segments._withUnsafeGuaranteedRef { $0.bytes(at: slot.location) }, url: url, style: style)
    {
      if glance.expiration != 0 || limitsAge {
        if lifetimes._withUnsafeGuaranteedRef({ $0.hasExpired(glance.lifetime, slot) }) {
          pin.release()
          if counts { catalog.keys.correctHitToMiss(hash) }
          return Borrow(.expired)
        }
      }
      if let source, !glance.has(source) {
        let drops = counts && glance.hasNamedSource
        let sequence = glance.sequence
        pin.release()
        if counts { catalog.keys.correctHitToMiss(hash) }
        if drops { entryRemover.dropOutdated(hash, slot.location, sequence: sequence) }
        return Borrow(.outdated)
      }
      let isNoted = !counts || keys._withUnsafeGuaranteedRef { $0.stampsAtOnce(slot, isAsked: source != nil) }
      if glance.carriesPayload, glance.encoding != Encoding.zstd.rawValue {
        let payload = glance.payload
        // This check comes after all fields were read. Once zeros have replaced any page, the slow path decides,
        // because it knows which pages were replaced.
        if !BusErrors.haveHappened {
          if !isNoted { lifetimes._withUnsafeGuaranteedRef { $0.noteUse(hash, slot.location) } }
          return Borrow(payload, of: hash, at: slot.location, pin: pin)
        }
      } else if !glance.carriesPayload {
        let name = glance.payloadName
        // Pins are released in reverse order, so this one is released before the payload's is taken.
        pin.release()
        guard let borrow = borrowShared(name, slot, hash) else {
          return borrowSlowly(url, style, hash, source, counts, (slot, stamp), nil)
        }
        if !isNoted { lifetimes._withUnsafeGuaranteedRef { $0.noteUse(hash, slot.location) } }
        return borrow
      }
    }
    return borrowSlowly(url, style, hash, source, counts, (slot, stamp), pin)
  }

  /// Ends a borrow. Returns false if the bytes were damaged during it, because zeros have replaced some
  /// (``BusErrors``).
  @discardableResult
  @inline(__always)
  func endBorrow(_ borrow: Borrow) -> Bool {
    if borrow.isCopied || BusErrors.haveHappened { return endSlowly(borrow) }
    borrow.pin.release()
    return true
  }

  @inline(never)
  private func endSlowly(_ borrow: Borrow) -> Bool {
    if borrow.isCopied {
      ThreadContext.current.releaseValue()
      return true
    }
    defer { borrow.pin.release() }
    return !catalog.isDamaged(borrow.bytes, borrow.pin)
  }

  /// Whether an entry may be read without a check.
  @inline(__always)
  func isTrusted(_ slot: KeySlot) -> Bool {
    switch verification {
    case .firstRead: slot.flags.contains(.checked)
    case .always: false
    case .never: slot.flags.contains(.checked) || catalog.segments.isVouched(slot.location)
    }
  }

  /// Whether a get would read no file and decompress nothing, because the value is uncompressed and trusted. Returns
  /// nil if there is no entry. The answer may be outdated a moment later.
  func isAtHand(_ url: UnsafeRawBufferPointer, _ style: Style) -> Bool? {
    style.bytes.withUnsafeBytes { styleBytes in
      let found = catalog.keys.find(catalog.hasher.key(url, styleTag: style.tag), counts: false) { slot in
        (slot, catalog.segments.pin(slot.location.slot))
      }
      guard let (slot, pin) = found else { return nil }
      defer { pin.release() }
      guard isTrusted(slot), !BusErrors.haveHappened,
        let glance = RecordGlance(catalog.segments.bytes(at: slot.location), url: url, style: styleBytes)
      else { return false }
      return glance.carriesPayload && glance.encoding != Encoding.zstd.rawValue
    }
  }

  /// `first`: the slot of the found entry as it was before the lookup noted a use, and the stamp of that use. `pin`:
  /// the pin on the entry's record; nil if it was released. A function of its own, so that it costs a hit no registers.
  @inline(never)
  private func borrowSlowly(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, _ source: Source?, _ counts: Bool,
    _ first: Noted, _ pin: Pin?
  ) -> Borrow {
    let noted = counts && catalog.keys.stampsAtOnce(first.slot, isAsked: source != nil) ? first : nil
    var passed = PassedEntries()
    if let pin {
      if isPassed(first.slot, hash, style) { pass(first.slot, &passed, hash, noted) }
      pin.release()
    }
    let borrow = search(url, style, hash, source, counts, passed, noted: noted)
    if counts, !borrow.isFound { catalog.keys.correctHitToMiss(hash) }
    return borrow
  }

  /// Returns whether a pinned entry may be trusted and is of another style. Notes the mark of that style. If the URL is
  /// crowded, the next lookup of a style with the same tag skips the entry by this mark.
  private func isPassed(_ slot: KeySlot, _ hash: KeyHash, _ style: UnsafeRawBufferPointer) -> Bool {
    guard isTrusted(slot),
      let mark = RecordGlance.otherStyle(catalog.segments.bytes(at: slot.location), than: style).map(Style.mark(of:)),
      !BusErrors.haveHappened
    else { return false }
    catalog.keys.set(styleMark: mark, hash, slot.location)
    return true
  }

  /// An entry before a lookup has noted its use, and the stamp of that use.
  private typealias Noted = (slot: KeySlot, stamp: UInt32)

  /// Passes an entry of another key. If the lookup has noted a use of it, takes that back.
  private func pass(_ slot: KeySlot, _ passed: inout PassedEntries, _ hash: KeyHash, _ noted: Noted?) {
    passed.add(slot.location)
    if let noted, noted.slot.location == slot.location {
      catalog.keys.takeBackUse(hash, noted.slot, stamp: noted.stamp)
    }
  }

  /// `noted`: the entry whose use the lookup has noted.
  private func search(
    _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash, _ source: Source?, _ counts: Bool,
    _ passed: consuming PassedEntries, noted: Noted?
  ) -> Borrow {
    // Several entries may fit the tag, and a damaged one is dropped during the search. So the search goes on until no
    // entry fits any more. A concurrent put gives a new location, which is looked at too.
    var absence = Borrow.Outcome.missing
    var passed = passed
    var turns = 0
    func dropDamaged(_ location: Location, in segment: UInt64) {
      // An entry that was removed meanwhile may have lost its file: that is no damage.
      if catalog.keys.find(hash, location), catalog.isStill(segment, location) { absence = .damaged }
      if !entryRemover.drop(hash, location, in: segment) { passed.add(location) }
    }
    while turns < 1 << 20, let (slot, pin) = catalog.pinEntry(hash, besides: passed) {
      turns += 1
      mappedSegments.mapAgain(slot.location.slot)
      // Once the pin is released, the slot may be given to another segment.
      let segment = catalog.segments.id(slot.location.slot)
      let outcome = examine(slot, hash, url, style, source, counts: counts && slot.location != noted?.slot.location)
      switch outcome {
      case .otherKey:
        pin.release()
        pass(slot, &passed, hash, noted)
      case .damaged:
        pin.release()
        dropDamaged(slot.location, in: segment)
      case .expired:
        pin.release()
        return Borrow(.expired)
      case .outdated(let header):
        pin.release()
        if counts, header.flags.contains(.namedSource) {
          entryRemover.dropOutdated(hash, slot.location, sequence: header.sequence)
        }
        return Borrow(.outdated)
      case .unavailable:
        pin.release()
        return Borrow(.unavailable)
      case .own(let view):
        if let borrow = borrow(view, hash, slot.location, pin) { return borrow }
        dropDamaged(slot.location, in: segment)
      case .elsewhere(let header):
        pin.release()
        do throws(SystemError) {
          if let borrow = try borrowShared(header, slot, hash) { return borrow }
        } catch {
          return Borrow(.unavailable)
        }
        dropDamaged(slot.location, in: segment)
      }
    }
    return Borrow(absence)
  }

  private enum Examination {
    case otherKey
    case damaged
    case expired
    case outdated(RecordHeader)
    case unavailable
    case own(RecordView)
    case elsewhere(RecordHeader)
  }

  /// Looks at one pinned entry. Checks its record first if it cannot be trusted. With `counts`, notes the use.
  private func examine(
    _ slot: KeySlot, _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer,
    _ source: Source?, counts: Bool
  ) -> Examination {
    if isPassed(slot, hash, style) { return .otherKey }
    if !isTrusted(slot) {
      var otherMark: UInt64?
      let outcome = checker.check(slot.location, readsPayload: true) { view in
        if !view.has(url: url, style: style) { otherMark = Style.mark(of: view.style) }
        return otherMark == nil
      }
      if let otherMark {
        catalog.keys.set(styleMark: otherMark, hash, slot.location)
        return .otherKey
      }
      switch outcome {
      case .damaged: return .damaged
      case .unavailable: return .unavailable
      case .intact(let header, _): if header.carriesPayload { catalog.keys.setChecked(hash, slot.location) }
      }
    }
    do throws(SystemError) {
      guard let view = try catalog.openRecord(at: slot.location, checks: false) else { return .damaged }
      guard view.has(url: url, style: style) else { return .otherKey }
      if view.header.expiration != 0 || lifetimes.limitsAge {
        if lifetimes.hasExpired(view.header.lifetime, slot) { return .expired }
      }
      if let source, view.header.source != source { return .outdated(view.header) }
      if counts { lifetimes.noteUse(hash, slot.location) }
      return view.header.carriesPayload ? .own(view) : .elsewhere(view.header)
    } catch {
      return .unavailable
    }
  }

  /// Borrows a checked payload in place, or a copy with the pin released. Returns nil, with the pin released, if the
  /// payload cannot be read.
  private func borrow(_ view: RecordView, _ hash: KeyHash, _ location: Location, _ pin: Pin) -> Borrow? {
    if view.header.encoding != .zstd, let stored = view.payload, !catalog.isDamaged(stored, pin) {
      return Borrow(stored, of: hash, at: location, pin: pin)
    }
    defer { pin.release() }
    return payloads.copyToThread(view, pin).map { Borrow($0, of: hash, at: location, pin: pin, isCopied: true) }
  }

  /// Borrows the payload that another record carries, if it was checked and can be borrowed in place. A function of its
  /// own, so that it costs a hit no registers.
  @inline(never)
  private func borrowShared(_ name: PayloadName, _ slot: KeySlot, _ hash: KeyHash) -> Borrow? {
    guard let (location, pin) = catalog.pinCandidate(catalog.hasher.content(name.digest)) else { return nil }
    if slot.flags.contains(.checked) || catalog.segments.isVouched(location),
      let payload = name.payload(in: catalog.segments.bytes(at: location)), !BusErrors.haveHappened
    {
      return Borrow(payload, of: hash, at: slot.location, pin: pin)
    }
    pin.release()
    return nil
  }

  /// Borrows the payload that another record carries. Throws if a file cannot be opened now.
  private func borrowShared(
    _ reference: RecordHeader, _ slot: KeySlot, _ hash: KeyHash
  ) throws(SystemError) -> Borrow? {
    let isTrusted = isTrusted(slot)
    guard let (location, pin) = try payloads.pinPayload(of: reference, checks: !isTrusted) else { return nil }
    mappedSegments.mapAgain(location.slot)
    let isTrustedHere = isTrusted && (slot.flags.contains(.checked) || catalog.segments.isVouched(location))
    do throws(SystemError) {
      if !isTrustedHere {
        let outcome = checker.check(location, readsPayload: true)
        if case .unavailable(let error) = outcome { throw error }
        guard case .intact = outcome else {
          pin.release()
          return nil
        }
        catalog.keys.setChecked(hash, slot.location)
      }
      guard let view = try catalog.openRecord(at: location, checks: false) else {
        pin.release()
        return nil
      }
      return borrow(view, hash, slot.location, pin)
    } catch {
      pin.release()
      throw error
    }
  }

  /// Looks up a key without counting a use.
  func lookup(_ url: UnsafeRawBufferPointer, _ style: Style, source: Source?) -> LookupResult {
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    return style.bytes.withUnsafeBytes { styleBytes in
      let borrow = borrow(url, styleBytes, hash, source: source, counts: false)
      guard borrow.isFound else {
        return switch borrow.outcome {
        case .missing, .inPlace, .copied: LookupResult.missing
        case .expired: .expired
        case .outdated: .outdated
        case .damaged: .damaged
        case .closed: .closed
        case .unavailable: info(url, styleBytes, hash).map { .found($0) } ?? .missing
        }
      }
      endBorrow(borrow)
      guard let info = info(url, styleBytes, hash) else { return .missing }
      return .found(info)
    }
  }

  /// Returns the entry of a key, from its record alone.
  func info(_ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ hash: KeyHash) -> EntryInfo? {
    var passed = PassedEntries()
    while let (slot, pin) = catalog.pinEntry(hash, besides: passed) {
      defer { pin.release() }
      if let view = catalog.record(at: slot.location, checks: true), view.has(url: url, style: style) {
        let info = info(view, slot)
        return catalog.segments.isDamaged(view.head, slot: slot.location.slot) ? nil : info
      }
      passed.add(slot.location)
    }
    return nil
  }

  /// Returns an entry, from its record and its index slot.
  func info(_ view: RecordView, _ slot: KeySlot) -> EntryInfo {
    EntryInfo(
      view, lastUse: lifetimes.useTime(of: slot, written: view.header.written), isPinned: slot.flags.contains(.pinned))
  }
}
