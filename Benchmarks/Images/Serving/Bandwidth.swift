#if Images
  import Foundation
  import VitrineImages

  /// A line that all connections share: each piece is sent when those before it have gone.
  final class Bandwidth: Sendable {
    private let bytesPerSecond: Double
    /// When what was accepted so far will have gone, in seconds of `WallTime`.
    private let free = Locked(0.0)

    init(bytesPerSecond: Double) { self.bytesPerSecond = bytesPerSecond }

    /// Waits until so many bytes would have gone.
    func take(_ byteCount: Int) {
      let end = free.withLock { free in
        free = max(free, WallTime.now) + Double(byteCount) / bytesPerSecond
        return free
      }
      Thread.sleep(forTimeInterval: max(0, end - WallTime.now))
    }
  }
#endif
