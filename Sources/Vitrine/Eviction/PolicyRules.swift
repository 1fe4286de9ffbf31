/// The decisions of an eviction policy. Each case of ``EvictionPolicy`` has an implementation.
protocol PolicyRules: Sendable {
  /// Whether a get changes an entry's stamp. Entry budgets and trims evict in the order of the stamps under every
  /// policy.
  var countsHits: Bool { get }
  /// How a full store reclaims space by whole segments; nil if it evicts single entries in the order of their stamps.
  var cleaning: CleaningRules? { get }
}

/// Evicts in the order of the last use.
struct LRURules: PolicyRules {
  var countsHits: Bool { true }
  var cleaning: CleaningRules? { nil }
}

/// Evicts in the order of the puts.
struct FIFORules: PolicyRules {
  var countsHits: Bool { false }
  var cleaning: CleaningRules? { nil }
}

/// One queue of segments. Each sweep over it drops the records that were not used since the sweep before, and keeps the
/// others in their order. After SIEVE (Zhang et al., NSDI 2024).
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
  /// Whether a kept record of main spends all of its uses; false if it spends one.
  let spendsAllUses: Bool
  /// Whether kept records go to the next sweep, where they come before newer segments; false if they go to the end of
  /// the queue.
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
