@testable import Vitrine

extension [String: [UInt8]] {
  /// The files of a store, with other sums in the headers of its checkpoints.
  func replacingEntrySums(_ sums: (_ checkpoint: Int) -> [CheckpointHeader.EntrySum]) -> [String: [UInt8]] {
    var image = self
    for index in 0..<2 {
      let name = "checkpoints/\(index).checkpoint"
      guard var header = image[name]?.withUnsafeBytes({ CheckpointHeader($0) }) else { continue }
      header.entrySums = sums(index)
      image[name]?.replaceSubrange(0..<CheckpointHeader.byteCount, with: header.encoded())
    }
    return image
  }
}
