/// The disks that an exploration has inspected, by their fingerprints.
struct InspectedImages {
  private var images: Set<UInt64> = []
  /// The images with their workload and the expectations.
  private var looks: Set<UInt64> = []

  /// Enters an image. Returns whether it is new; nil if it was inspected already with the same expectations.
  mutating func enter(_ fingerprint: UInt64, workload: Int, expected: Int) -> Bool? {
    let look = mixed(mixed(fingerprint, UInt64(workload)), UInt64(expected))
    guard looks.insert(look).inserted else { return nil }
    // Two workloads may reach the same disk.
    return images.insert(fingerprint).inserted
  }
}
