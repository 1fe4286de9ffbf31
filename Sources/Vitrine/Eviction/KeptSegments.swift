/// Segments that were not emptied, because payloads that other keys use, pinned records and bound heads fill nearly all
/// of their bytes. Until a 16th of its bytes has died, such a segment is chosen only if it is sparse.
struct KeptSegments {
  /// Live bytes at the last look, by the segments' numbers.
  private var byteCounts: [UInt64: Int] = [:]
  /// More segments than a store of default sizing has. Beyond that, some belong to segments that are gone.
  private static let mostSegments = 1024

  mutating func note(_ segment: UInt64, liveByteCount: Int) {
    if byteCounts.count >= KeptSegments.mostSegments { byteCounts.removeAll() }
    byteCounts[segment] = liveByteCount
  }

  /// `byteCount`: the bytes written to the segment.
  func contains(_ segment: UInt64, liveByteCount: Int, of byteCount: Int) -> Bool {
    guard let before = byteCounts[segment] else { return false }
    return Double(before - liveByteCount) < CleaningPlan.leastDeadShare * Double(byteCount)
  }
}
