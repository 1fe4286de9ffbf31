import Foundation

/// The cosines that BlurHash and ThumbHash add up: `cos(pi * wave * (position + shift) / count)`.
struct CosineTable {
  let waveCount: Int
  let count: Int
  /// The cosines of wave 0 at all positions, then those of wave 1, and so on.
  private let cosines: [Double]

  init(waveCount: Int, count: Int, shift: Double) {
    self.waveCount = waveCount
    self.count = count
    cosines = (0..<waveCount * count).map { index in
      cos(Double.pi * Double(index / count) * (Double(index % count) + shift) / Double(count))
    }
  }

  subscript(wave: Int, position: Int) -> Double { cosines[wave * count + position] }
}
