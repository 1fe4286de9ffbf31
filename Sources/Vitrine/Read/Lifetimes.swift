/// Computes how long an entry is still valid, and notes uses.
///
/// A fixed expiry is set by the caller and compared with the wall clock. Ages must survive a clock that steps. If the
/// time of a write or use lies more than a minute in the future, the clock was set back since. The age then counts from
/// the moment when the store noticed the last step, or else from the opening. So the entry does not expire at once, but
/// when the limit has passed since that moment.
final class Lifetimes: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  let catalog: Catalog
  let identity: StoreIdentity
  private let countsHits: Bool
  private let usesSystemClock: Bool

  init(_ context: StoreContext, gate: WriteGate, signal: UpkeepSignal) {
    self.context = context
    self.gate = gate
    self.signal = signal
    catalog = context.catalog
    identity = context.opening.identity
    countsHits = context.opening.policyRules.countsHits
    usesSystemClock = context.usesSystemClock
  }

  /// Whether an entry without an expiry of its own may expire too.
  @inline(__always)
  var limitsAge: Bool { identity.maximumAge != 0 || identity.maximumIdle != 0 }

  /// The shortest time after which an entry without an expiry of its own may expire, in milliseconds; 0 for never.
  private var shortestLimit: Int64 {
    [identity.maximumAge, identity.maximumIdle].filter { $0 > 0 }.min() ?? 0
  }

  /// Returns a moment, in milliseconds since 1970, before which a new record does not expire; nil if it never expires.
  /// A rewritten entry dated in the future may expire earlier; its put noted that time.
  func earliestExpiry(of put: PreparedPut, written: Int64) -> Int64? {
    var due: Int64?
    if put.expiration != 0 { due = put.isSliding ? saturatingSum(written, put.expiration) : put.expiration }
    return limitsAge ? min(due ?? .max, saturatingSum(written, shortestLimit)) : due
  }

  func hasExpired(_ lifetime: Lifetime, _ slot: KeySlot) -> Bool {
    timeLeft(lifetime, slot) <= 0
  }

  /// Milliseconds for which the entry is still valid; `Int64.max` for forever.
  func timeLeft(_ lifetime: Lifetime, _ slot: KeySlot) -> Int64 {
    let now = environment.clock.wallMilliseconds()
    var left = Int64.max
    if identity.maximumAge != 0 { left = identity.maximumAge - age(lifetime.written, now) }
    if identity.maximumIdle != 0 || lifetime.isSliding {
      let idle = age(max(lastUse(stamp: slot.stamp, at: now), lifetime.written), now)
      if identity.maximumIdle != 0 { left = min(left, identity.maximumIdle - idle) }
      if lifetime.isSliding {
        // A glance at a damaged record may read any number.
        let (rest, overflow) = lifetime.expiration.subtractingReportingOverflow(idle)
        return overflow ? .min : min(left, rest)
      }
    }
    guard lifetime.expiration != 0 else { return left }
    let (difference, overflow) = lifetime.expiration.subtractingReportingOverflow(now)
    return min(left, overflow ? (lifetime.expiration < now ? .min : .max) : difference)
  }

  /// Returns when an entry was last used, in milliseconds since 1970, with the accuracy of ``UseTimes``. The result is
  /// never earlier than the true time.
  func lastUse(stamp: UInt32, at now: Int64) -> Int64 {
    catalog.useTimes.time(of: stamp, at: catalog.keys.clock) ?? now
  }

  /// Returns the time of the last use for reports; nil if the policy notes no use. In a read-only opening, an entry
  /// without a noted time was put after the checkpoint that the opening has read.
  func useTime(of slot: KeySlot, written: Int64) -> Int64? {
    guard policyRules.countsHits else { return nil }
    let noted = catalog.useTimes.time(of: slot.stamp, at: catalog.keys.clock)
    let now = environment.clock.wallMilliseconds()
    return min(now, max(written, noted ?? (gate.isReadOnly ? written : now)))
  }

  /// Notes a use that was not counted at lookup, because the record decides hit or miss. Call ``noteUseTime()`` first.
  func noteUse(_ hash: KeyHash, _ location: Location) {
    if countsHits { catalog.keys.touch(hash, location) }
  }

  /// Notes the current time, before uses at this time get their stamps. Takes a lock once for each time that the clock
  /// shows. Each round of upkeep calls it. The first use or change after upkeep fell asleep wakes it here.
  @inline(__always)
  func noteUseTime() {
    let now = usesSystemClock ? POSIXClock.now() : environment.clock.wallMilliseconds()
    // The store keeps its readings alive. A hit counts no references to them, because all readers would share the
    // count.
    let times = Unmanaged.passUnretained(catalog.useTimes)
    if !times._withUnsafeGuaranteedRef({ $0.isCurrent(now) }) { takeReading(now) }
  }

  @inline(never)
  private func takeReading(_ now: Int64) {
    catalog.useTimes.note(now, at: catalog.keys.clock)
    signal.noteActivity()
  }

  /// Returns how long ago a moment was, in milliseconds, at least 0.
  private func age(_ moment: Int64, _ now: Int64) -> Int64 {
    if moment <= now {
      let (age, overflow) = now.subtractingReportingOverflow(moment)
      return overflow ? .max : age
    }
    if moment &- now <= ExpiryWatch.tolerance, moment &- now > 0 { return 0 }
    return expiry.millisecondsSinceLastStep()
  }
}
