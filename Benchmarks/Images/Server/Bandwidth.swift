import Foundation
import VitrineImages

/// A line that all connections share. Each piece is sent after the pieces before it.
final class Bandwidth: Sendable {
  private let bytesPerSecond: Double
  /// The time at which all accepted bytes are sent, in seconds of `WallTime`.
  private let free = Locked(0.0)

  init(bytesPerSecond: Double) { self.bytesPerSecond = bytesPerSecond }

  /// Waits until this many bytes would have been sent.
  func take(_ byteCount: Int) {
    let end = free.withLock { free in
      free = max(free, WallTime.now) + Double(byteCount) / bytesPerSecond
      return free
    }
    Thread.sleep(forTimeInterval: max(0, end - WallTime.now))
  }
}
