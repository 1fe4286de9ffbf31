/// Tells how long an entry is still given out, and notes uses.
///
/// A fixed expiry is the caller's word and compared with the wall clock. Ages must survive a clock that steps: a time in
/// the future by more than a minute says nothing but that the clock has been set back since; such an entry counts as
/// written when that was noticed, or when the store was opened. So a step makes nothing immortal while the store stays
/// open for as long as the limit, and nothing expires at once.
final class Lifetimes: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  let catalog: Catalog
  let identity: StoreIdentity
  private let countsHits: Bool
  private let usesSystemClock: Bool

  init(_ context: StoreContext, gate: WriteGate) {
    self.context = context
    self.gate = gate
    catalog = context.catalog
    identity = context.identity
    countsHits = context.evictionOrder.countsHits
    usesSystemClock = context.usesSystemClock
  }

  /// Whether an entry without an expiry of its own may expire too.
  @inline(__always)
  var limitsAge: Bool { identity.maximumAge != 0 || identity.maximumIdle != 0 }

  /// The least time after which an entry without an expiry of its own may expire; 0 for never.
  private var shortestLimit: Int64 {
    [identity.maximumAge, identity.maximumIdle].filter { $0 > 0 }.min() ?? 0
  }

  /// A moment, in milliseconds since 1970, before which a new record does not expire; nil when it never does. (A change of an
  /// entry from a time that is in the future by now may expire earlier. Its entry was noted for that.)
  func earliestExpiry(of put: PreparedPut, written: Int64) -> Int64? {
    var due: Int64?
    if put.expiration != 0 { due = put.isSliding ? saturatingSum(written, put.expiration) : put.expiration }
    return limitsAge ? min(due ?? .max, saturatingSum(written, shortestLimit)) : due
  }

  func hasExpired(_ lifetime: Lifetime, _ slot: KeySlot) -> Bool {
    timeLeft(lifetime, slot) <= 0
  }

  /// Milliseconds for which the entry is still given out; `Int64.max` for ever.
  func timeLeft(_ lifetime: Lifetime, _ slot: KeySlot) -> Int64 {
    let now = environment.clock.wallMilliseconds()
    var left = Int64.max
    if identity.maximumAge != 0 { left = identity.maximumAge - age(lifetime.written, now) }
    if identity.maximumIdle != 0 || lifetime.isSliding {
      let idle = age(max(lastUse(of: slot, at: now), lifetime.written), now)
      if identity.maximumIdle != 0 { left = min(left, identity.maximumIdle - idle) }
      if lifetime.isSliding {
        // A glance at a damaged record may see any number.
        let (rest, overflow) = lifetime.expiration.subtractingReportingOverflow(idle)
        return overflow ? .min : min(left, rest)
      }
    }
    guard lifetime.expiration != 0 else { return left }
    let (difference, overflow) = lifetime.expiration.subtractingReportingOverflow(now)
    return min(left, overflow ? (lifetime.expiration < now ? .min : .max) : difference)
  }

  /// When an entry was last used, in milliseconds since 1970, to the minute or less exactly (``UseTimes``): never said to
  /// be longer ago than it is.
  func lastUse(of slot: KeySlot, at now: Int64) -> Int64 {
    catalog.useTimes.time(of: slot.stamp, at: catalog.keys.clock) ?? now
  }

  /// The same for whoever asks about an entry; nil where the policy notes no use. What a read-only opening has no time for
  /// was put after the checkpoint that it goes by.
  func useTime(of slot: KeySlot, written: Int64) -> Int64? {
    guard evictionOrder.countsHits else { return nil }
    let noted = catalog.useTimes.time(of: slot.stamp, at: catalog.keys.clock)
    let now = environment.clock.wallMilliseconds()
    return min(now, max(written, noted ?? (gate.isReadOnly ? written : now)))
  }

  /// Notes the use of an entry that could only be told from a miss by its record. ``noteUseTime()`` came before.
  func noteUse(_ hash: KeyHash, _ location: Location) {
    if countsHits { catalog.keys.touch(hash, location) }
  }

  /// Notes what time it is, before uses at this time get their stamps. Takes a lock once for each time that the clock
  /// shows, and once every second at the least (``upkeep(isIdle:)``).
  @inline(__always)
  func noteUseTime() {
    let now = usesSystemClock ? POSIXClock.now() : environment.clock.wallMilliseconds()
    // The store keeps its readings; a hit counts no references to them, which all readers would share.
    let times = Unmanaged.passUnretained(catalog.useTimes)
    if !times._withUnsafeGuaranteedRef({ $0.isCurrent(now) }) { takeReading(now) }
  }

  @inline(never)
  private func takeReading(_ now: Int64) { catalog.useTimes.note(now, at: catalog.keys.clock) }

  /// How long ago a moment was, at least 0.
  private func age(_ moment: Int64, _ now: Int64) -> Int64 {
    if moment <= now {
      let (age, overflow) = now.subtractingReportingOverflow(moment)
      return overflow ? .max : age
    }
    if moment &- now <= ExpiryWatch.tolerance, moment &- now > 0 { return 0 }
    return expiry.millisecondsSinceLastStep()
  }
}
