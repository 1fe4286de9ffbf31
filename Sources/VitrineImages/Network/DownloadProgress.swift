/// The bytes of a download so far.
public struct DownloadProgress: Sendable, Hashable {
  /// The bytes of the body that have arrived, decompressed. Parts of earlier attempts count if the download continues
  /// them. If an attempt starts over, the number begins at 0 again.
  public let receivedByteCount: Int
  /// The bytes of the whole body; nil if the server does not state them, or if it compresses the body.
  public let expectedByteCount: Int?

  /// Creates a progress.
  public init(receivedByteCount: Int, expectedByteCount: Int?) {
    self.receivedByteCount = receivedByteCount
    self.expectedByteCount = expectedByteCount
  }

  /// The share that has arrived, from 0 to 1; nil if the size is not known.
  public var fraction: Double? {
    expectedByteCount.map { $0 == 0 ? 1 : min(1, Double(receivedByteCount) / Double($0)) }
  }

  /// The least growth that is worth a report: a 64th of a known size, else 64 KiB.
  private var step: Int { max(1, expectedByteCount.map { $0 / 64 } ?? 65_536) }

  /// Whether a listener that was told `last` should be told this.
  func isNews(after last: DownloadProgress?) -> Bool {
    guard let last else { return true }
    let grown = receivedByteCount - last.receivedByteCount
    return grown < 0 || expectedByteCount != last.expectedByteCount || grown >= step
      || grown > 0 && receivedByteCount == expectedByteCount
  }
}
