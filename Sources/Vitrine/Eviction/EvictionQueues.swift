/// The queues of a policy that reclaims space by segments: their order, and the keys that probation has dropped.
struct EvictionQueues {
  var segments: SegmentQueue
  private var ghost = Ghost()

  init(_ policy: EvictionPolicy) {
    segments = SegmentQueue(sweeps: policy.rules.cleaning?.sweeps ?? false)
  }

  /// Notes keys that probation has dropped. `entryCount` is the number of entries of the store.
  mutating func remember(_ dropped: [Victim], entryCount: Int) {
    ghost.resize(entryCount: entryCount)
    for victim in dropped { ghost.note(victim.hash) }
  }

  /// Returns whether probation has dropped the key recently, and forgets it.
  mutating func takeReturned(_ key: KeyHash) -> Bool { ghost.take(key) }
}
