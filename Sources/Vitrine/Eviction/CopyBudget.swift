/// The bytes that may be copied to keep used entries: a share of the bytes put, saved up to one segment. So a full
/// store writes little more than the bytes put.
struct CopyBudget {
  private static let share = 0.10

  private var byteCount = 0.0
  private var bytesPut = 0
  /// The average uses of a byte in recent victims.
  private(set) var usesPerByte = 0.0

  /// Adds the share of the bytes put since the last call. `bytesPut` counts them since the store was opened.
  mutating func fill(bytesPut: Int, most: Int) {
    byteCount = min(Double(most), byteCount + Double(max(0, bytesPut - self.bytesPut)) * CopyBudget.share)
    self.bytesPut = bytesPut
  }

  /// Takes bytes for a copy. Returns false if there are too few.
  mutating func take(_ count: Int) -> Bool {
    guard byteCount >= Double(count) else { return false }
    byteCount -= Double(count)
    return true
  }

  /// Notes the uses of a victim's live bytes. A victim of segment size has a weight of 0.05; others in proportion, at
  /// most 0.5.
  mutating func note(uses: Int, byteCount: Int, segmentByteCount: Int) {
    guard byteCount > 0 else { return }
    let weight = min(0.5, 0.05 * Double(byteCount) / Double(max(1, segmentByteCount)))
    usesPerByte += weight * (Double(uses) / Double(byteCount) - usesPerByte)
  }
}
