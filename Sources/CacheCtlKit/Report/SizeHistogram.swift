/// The number of values by size, in classes that grow fourfold.
public struct SizeHistogram: Sendable {
  public struct Class: Sendable, Equatable {
    /// The lowest size above the class, in bytes.
    public let upperBound: Int
    public let count: Int
  }

  /// Below 1 KiB, 4 KiB, ... 256 MiB, and all above.
  private var counts = [Int](repeating: 0, count: 11)

  public init() {}

  public mutating func add(_ byteCount: Int) {
    var index = 0
    var bound = 1024
    while byteCount >= bound, index < counts.count - 1 {
      bound *= 4
      index += 1
    }
    counts[index] += 1
  }

  /// From the first class that is not empty to the last one.
  public var classes: [Class] {
    guard let first = counts.firstIndex(where: { $0 > 0 }), let last = counts.lastIndex(where: { $0 > 0 })
    else {
      return []
    }
    return (first...last).map { index in
      Class(upperBound: index == counts.count - 1 ? .max : 1024 << (2 * index), count: counts[index])
    }
  }
}

extension SizeHistogram.Class {
  /// `< 4 KiB`; classes have binary bounds, so their names have binary units.
  public var name: String {
    if upperBound == .max { return ">= 256 MiB" }
    return upperBound < 1 << 20 ? "< \(upperBound >> 10) KiB" : "< \(upperBound >> 20) MiB"
  }
}
