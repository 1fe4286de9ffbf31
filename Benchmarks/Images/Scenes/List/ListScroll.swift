import Foundation
import VitrineSimulation

/// The scrolling of a long list, frame by frame, from its beginning to its end. The list moves at 30 rows a second,
/// steadily or in flings that begin at 60 and slow down. Sometimes it moves back. The same for the same seed.
struct ListScroll {
  static let framesPerSecond = 60.0
  static let rowsPerSecond = 30.0
  /// The list rests on its first screen before it is touched.
  static let restSeconds = 1.0

  /// The position at each frame, in rows.
  private(set) var offsets: [Double]
  /// Rows per second, without the rest.
  let meanSpeed: Double

  init(rowCount: Int, visibleCount: Int, seed: UInt64) {
    var random = SplitMix64(seed: seed)
    func fraction() -> Double { Double(random.next() >> 11) / Double(1 << 53) }
    let end = Double(rowCount - visibleCount)
    let restCount = Int(ListScroll.restSeconds * ListScroll.framesPerSecond)
    var offsets = [Double](repeating: 0, count: restCount)
    var path = 0.0
    while let last = offsets.last, last < end {
      // The list sometimes moves back, but not near its beginning.
      let isBack = last > Double(3 * visibleCount) && random.next(below: 4) == 0
      let isFling = random.next(below: 2) == 0
      let seconds = isBack ? 0.4 + 0.8 * fraction() : 1 + 2.5 * fraction()
      let count = Int(seconds * ListScroll.framesPerSecond)
      for frame in 0..<count {
        let done = Double(frame) / Double(count)
        // From 60 down to 12, which averages 30.
        let speed = isFling ? 60 * pow(12.0 / 60, done) : ListScroll.rowsPerSecond
        let step = speed / ListScroll.framesPerSecond * (isBack ? -1 : 1)
        let next = min(max(offsets[offsets.count - 1] + step, 0), end)
        path += abs(next - offsets[offsets.count - 1])
        offsets.append(next)
        if next == end { break }
      }
    }
    self.offsets = offsets
    meanSpeed = path / (Double(offsets.count - restCount) / ListScroll.framesPerSecond)
  }
}
