/// The decisions of an eviction policy. A new policy is one more implementation, and a case of ``EvictionPolicy``.
protocol PolicyRules: Sendable {
  /// Whether a get changes an entry's stamp. The stamps give the order in which entries leave one by one: for limits of
  /// entries and trims under every policy.
  var countsHits: Bool { get }
  /// How a full store reclaims space by whole segments; nil if entries leave one by one in the order of their stamps.
  var cleaning: CleaningRules? { get }
}

/// By the last use, exactly.
struct LRURules: PolicyRules {
  var countsHits: Bool { true }
  var cleaning: CleaningRules? { nil }
}

/// By the put.
struct FIFORules: PolicyRules {
  var countsHits: Bool { false }
  var cleaning: CleaningRules? { nil }
}

/// A hand goes over one queue of segments, drops what was not used since it came by, and keeps the rest in its place.
/// After SIEVE (Zhang et al., NSDI 2024).
struct SieveRules: PolicyRules {
  var countsHits: Bool { true }
  var cleaning: CleaningRules? {
    CleaningRules(
      probationShare: nil, stayingShare: (main: 0.5, probation: 0.5), copiedDensity: 0, spendsAllUses: true,
      sweeps: true)
  }
}

/// Two queues of segments, a short one for new keys and a long one for used records. After S3-FIFO (Yang et al., SOSP
/// 2023).
struct S3FIFORules: PolicyRules {
  var countsHits: Bool { true }
  var cleaning: CleaningRules? {
    CleaningRules(
      probationShare: 0.10, stayingShare: (main: 0.5, probation: 0.7), copiedDensity: 1.4, spendsAllUses: false,
      sweeps: false)
  }
}

/// How a policy reclaims space by whole segments.
struct CleaningRules: Sendable {
  /// The share of the live bytes above which segments of probation are reclaimed before those of main; nil if all
  /// segments form one queue, which counts as main.
  let probationShare: Double?
  /// The share of used bytes from which a whole segment is queued again.
  let stayingShare: (main: Double, probation: Double)
  /// Uses for each byte, as a multiple of the average of recent victims, from which a used record is copied.
  let copiedDensity: Double
  /// Whether a record of main that is kept spends all of its uses, and not one.
  let spendsAllUses: Bool
  /// Whether kept records come before newer segments again, in the next sweep over the queue, and not behind them.
  let sweeps: Bool
}

extension EvictionPolicy {
  var rules: any PolicyRules {
    switch self {
    case .lru: LRURules()
    case .fifo: FIFORules()
    case .s3fifo: S3FIFORules()
    case .sieve: SieveRules()
    }
  }
}
