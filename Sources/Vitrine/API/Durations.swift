extension PutOptions {
  /// Makes options for an entry that expires `duration` after its last use, rounded up to a millisecond. If the
  /// duration is not positive, the put throws `invalidArgument`.
  public init(expiresUnused duration: Duration, metadata: [UInt8] = [], durability: Durability? = nil) {
    self.init(metadata: metadata, durability: durability, slidingExpirationMilliseconds: duration.milliseconds)
  }

  /// The time after its last use for which gets return the entry, rounded up to a millisecond; nil for no such limit.
  public var slidingExpiration: Duration? {
    get { slidingExpirationMilliseconds.map { .milliseconds($0) } }
    set { slidingExpirationMilliseconds = newValue?.milliseconds }
  }
}

extension EntryInfo {
  /// The time after its last use for which gets return the entry; nil for no such limit.
  public var slidingExpiration: Duration? { slidingExpirationMilliseconds.map { .milliseconds($0) } }
}

extension StoreOptions {
  /// `maximumAgeMilliseconds` as a duration, rounded up to a millisecond; zero for no limit, nil to keep the stored
  /// value.
  public var maximumAge: Duration? {
    get { maximumAgeMilliseconds.map { .milliseconds($0) } }
    set { maximumAgeMilliseconds = newValue?.milliseconds }
  }

  /// `maximumIdleMilliseconds` as a duration, rounded up to a millisecond; zero for no limit, nil to keep the stored
  /// value.
  public var maximumIdle: Duration? {
    get { maximumIdleMilliseconds.map { .milliseconds($0) } }
    set { maximumIdleMilliseconds = newValue?.milliseconds }
  }

  /// `waitForLockMilliseconds` as a duration, rounded up to a millisecond.
  public var waitForLock: Duration {
    get { .milliseconds(waitForLockMilliseconds) }
    set { waitForLockMilliseconds = Int(clamping: newValue.milliseconds) }
  }
}

extension Duration {
  /// Milliseconds, rounded up, so that a positive duration does not become zero.
  package var milliseconds: Int64 {
    // The components of a longer duration do not fit into their types.
    if self >= .milliseconds(Int64.max) { return .max }
    if self <= .milliseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    let part = (attoseconds + (attoseconds > 0 ? 999_999_999_999_999 : 0)) / 1_000_000_000_000_000
    let (sum, exceeds) = whole.addingReportingOverflow(part)
    return overflows || exceeds ? (seconds < 0 ? .min : .max) : sum
  }
}

extension Int64 {
  /// The moment a duration after this one, in milliseconds since 1970; at most the largest number.
  package func milliseconds(after duration: Duration) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(duration.milliseconds)
    return overflows ? (self < 0 ? .min : .max) : sum
  }
}
