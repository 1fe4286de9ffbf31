/// Remembers keys that probation has dropped, so that a key which comes back soon is put into main.
///
/// A table of 16-bit tags in buckets of eight. In a bucket the newest tag comes first, and the oldest one leaves. A tag
/// may stand for another key: then a new entry begins in main, which costs room for a while and nothing else.
struct Ghost {
  private static let ways = 8

  private var tags: [UInt16] = []
  private var bucketCount = 0

  /// Fits the table to the number of entries: one tag for each. The tags stay, nearly in order.
  mutating func resize(entryCount: Int) {
    let wanted = max(1, entryCount / Ghost.ways)
    if bucketCount > 0, wanted <= bucketCount + bucketCount / 4, wanted >= bucketCount - bucketCount / 3 { return }
    var fitted = [UInt16](repeating: 0, count: wanted * Ghost.ways)
    for bucket in 0..<wanted where bucketCount > 0 {
      // The newest tags of all former buckets whose keys are in this one.
      let first = bucket * bucketCount / wanted
      let last = max(first, ((bucket + 1) * bucketCount - 1) / wanted)
      var count = 0
      for way in 0..<Ghost.ways {
        for old in first...last where count < Ghost.ways && tags[old * Ghost.ways + way] != 0 {
          fitted[bucket * Ghost.ways + count] = tags[old * Ghost.ways + way]
          count += 1
        }
      }
    }
    tags = fitted
    bucketCount = wanted
  }

  mutating func note(_ key: KeyHash) {
    guard bucketCount > 0 else { return }
    let (first, tag) = position(key)
    for way in stride(from: Ghost.ways - 1, to: 0, by: -1) { tags[first + way] = tags[first + way - 1] }
    tags[first] = tag
  }

  /// Returns whether the key is there, and forgets it.
  mutating func take(_ key: KeyHash) -> Bool {
    guard bucketCount > 0 else { return false }
    let (first, tag) = position(key)
    guard let found = (0..<Ghost.ways).first(where: { tags[first + $0] == tag }) else { return false }
    for way in found..<Ghost.ways - 1 { tags[first + way] = tags[first + way + 1] }
    tags[first + Ghost.ways - 1] = 0
    return true
  }

  private func position(_ key: KeyHash) -> (first: Int, tag: UInt16) {
    // The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): all bits of the key count in each bit of the result.
    var mixed = key.stored.bits
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    mixed ^= mixed >> 31
    let bucket = Int(((mixed >> 32) &* UInt64(bucketCount)) >> 32)
    return (bucket * Ghost.ways, UInt16(truncatingIfNeeded: mixed) | 1)
  }
}
