/// What limits the time for which an entry is given out, as its record says.
struct Lifetime {
  /// 0 for never; milliseconds since 1970, or since the last use when `isSliding`.
  let expiration: Int64
  let isSliding: Bool
  /// Milliseconds since 1970.
  let written: Int64
}

extension RecordGlance {
  @inline(__always) var lifetime: Lifetime {
    Lifetime(expiration: expiration, isSliding: isSliding, written: written)
  }
}

extension RecordHeader {
  var lifetime: Lifetime {
    Lifetime(expiration: expiration, isSliding: flags.contains(.sliding), written: written)
  }
}

// A fixed expiry is the caller's word and compared with the wall clock. Ages must survive a clock that steps: a time in
// the future by more than a minute says nothing but that the clock has been set back since; such an entry counts as
// written when that was noticed, or when the store was opened. So a step makes nothing immortal while the store stays
// open for as long as the limit, and nothing expires at once.
extension StoreCore {
  /// Whether an entry without an expiry of its own may expire too.
  @inline(__always)
  var limitsAge: Bool { identity.maximumAge != 0 }

  func hasExpired(_ lifetime: Lifetime, _ slot: KeySlot) -> Bool {
    timeLeft(lifetime, slot) <= 0
  }

  /// Milliseconds for which the entry is still given out; `Int64.max` for ever.
  func timeLeft(_ lifetime: Lifetime, _ slot: KeySlot) -> Int64 {
    let now = environment.clock.wallMilliseconds()
    var left = Int64.max
    if identity.maximumAge != 0 { left = identity.maximumAge - age(lifetime.written, now) }
    guard lifetime.expiration != 0 else { return left }
    if lifetime.isSliding {
      return min(left, lifetime.expiration - age(max(lastUse(of: slot) ?? .min, lifetime.written), now))
    }
    let (difference, overflow) = lifetime.expiration.subtractingReportingOverflow(now)
    return min(left, overflow ? (lifetime.expiration < now ? .min : .max) : difference)
  }

  /// When an entry was last asked for, in milliseconds since 1970; nil where no policy keeps times of use. The place
  /// where recency will answer from the entry's stamp.
  func lastUse(of slot: KeySlot) -> Int64? { nil }

  /// How long ago a moment was, at least 0.
  private func age(_ moment: Int64, _ now: Int64) -> Int64 {
    if moment <= now {
      let (age, overflow) = now.subtractingReportingOverflow(moment)
      return overflow ? .max : age
    }
    if moment &- now <= ExpiryWatch.tolerance, moment &- now > 0 { return 0 }
    return expiry.millisecondsSinceLastStep()
  }

  // MARK: Giving back the space

  /// Removes expired entries, a step at a time: looks at no more than a thousand records, and only at those that may
  /// expire. Sweeps begin when something is due, and take a tenth of the time at most. Under the upkeep lock; changes no
  /// recency.
  func dropExpired() throws(StoreError) {
    guard expiry.beginsOrGoesOn(maximumAge: identity.maximumAge) else { return }
    var gone: [RecordName] = []
    for _ in 0..<ExpiryWatch.step {
      guard let (slot, hash) = expiry.next(catalog.keys, all: limitsAge) else { break }
      let pinned = catalog.keys.withEntry(hash, slot.location) { _ in catalog.segments.pin(slot.location.slot) }
      guard let pin = pinned else { continue }
      defer { pin.release() }
      guard let header = catalog.record(at: slot.location, checks: true)?.header else { continue }
      let left = timeLeft(header.lifetime, slot)
      if left <= 0 {
        gone.append(RecordName(hash: hash, location: slot.location, sequence: header.sequence))
      } else if left < .max {
        expiry.note(saturatingSum(environment.clock.wallMilliseconds(), left))
      }
    }
    // What finds no room in the log now stays a miss, and is met again by the next sweep.
    for start in stride(from: 0, to: gone.count, by: largestRemoval) {
      if try tryToRemove(gone[start..<min(start + largestRemoval, gone.count)]) == nil { expiry.note(.min) }
    }
  }
}
