import Glibc

/// The values of a workload: windows into one shared pool, each at another offset, so that all are different and none
/// is made during a measurement. Immutable, so all threads read it.
final class Values: @unchecked Sendable {
  enum Content { case random, json }

  /// A power of two. Values begin below it.
  private static let randomRange = 1 << 26
  private static let jsonRange = 1 << 24

  private let pool: UnsafeMutableRawBufferPointer
  private let range: Int
  private let sizes: [Int32]
  private let fixedByteCount: Int

  /// Values of one size.
  init(_ content: Content = .random, byteCount: Int) {
    (pool, range) = Values.makePool(content, largest: byteCount)
    sizes = []
    fixedByteCount = byteCount
  }

  /// Values of these sizes.
  init(_ content: Content = .random, sizes: [Int32]) {
    (pool, range) = Values.makePool(content, largest: Int(sizes.max() ?? 0))
    self.sizes = sizes
    fixedByteCount = 0
  }

  deinit { pool.deallocate() }

  /// The value with a number.
  @inline(__always)
  func value(_ number: Int) -> UnsafeRawBufferPointer {
    // Odd, so that no two of the first `range` numbers begin at one offset.
    let offset = (number &* 0x9E3_7791) & (range - 1)
    return UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(pool)[offset..<(offset + byteCount(number))])
  }

  @inline(__always)
  func byteCount(_ number: Int) -> Int { sizes.isEmpty ? fixedByteCount : Int(sizes[number % sizes.count]) }

  /// Bytes of the values from 0 to `count - 1`.
  func totalByteCount(_ count: Int) -> Int {
    sizes.isEmpty ? count * fixedByteCount : (0..<count).reduce(0) { $0 + byteCount($1) }
  }

  private static func makePool(_ content: Content, largest: Int) -> (UnsafeMutableRawBufferPointer, Int) {
    let range = content == .random ? randomRange : jsonRange
    let count = (range + largest + 7) / 8 * 8
    let pool = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
    switch content {
    case .random:
      var random = Random(1)
      for offset in stride(from: 0, to: count, by: 8) {
        pool.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
      }
    case .json: JSONRecords.fill(pool)
    }
    return (pool, range)
  }
}

/// Sizes of files.
enum Sizes {
  /// Lognormal sizes with a median, between 1,024 bytes and a largest one.
  static func lognormal(count: Int, median: Double, deviation: Double, largest: Int) -> [Int32] {
    var random = Random(2)
    return (0..<count).map { _ in
      let radius = (-2 * log(1 - random.fraction())).squareRoot()
      let normal = radius * cos(2 * Double.pi * random.fraction())
      return Int32(min(Double(largest), max(1024, median * exp(deviation * normal))))
    }
  }

  static func uniform(count: Int, _ range: ClosedRange<Int>) -> [Int32] {
    var random = Random(3)
    return (0..<count).map { _ in Int32(range.lowerBound + random.index(range.count)) }
  }
}
