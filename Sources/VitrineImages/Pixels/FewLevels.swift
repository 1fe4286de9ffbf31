/// The conversion of bytes to the 32 levels of red and blue and the 64 levels of green in `RGB565`.
///
/// It is dithered, since 32 levels show as steps in any sky. Dithering uses a matrix instead of error diffusion. The
/// result depends only on a pixel's value and position. So lines can be drawn in any order (the renderer draws from
/// either end), a change in one place changes no other place, equal pictures give equal bytes, and a byte that equals
/// a level stays the same. Error diffusion has less noise at best, but shows crawling patterns at worst.
///
/// Invariant: the memory is written only in `init` and never freed. The process has a single instance.
struct FewLevels: @unchecked Sendable {
  static let shared = FewLevels()

  /// By byte: the level at or below it times 64, plus the distance to the next level in 64ths.
  private let five: UnsafePointer<UInt16>
  private let six: UnsafePointer<UInt16>
  /// Bayer's 8 x 8 matrix, row by row. It contains each of 0...63 once, and neighbors differ widely.
  private let matrix: UnsafePointer<UInt16>

  private init() {
    five = FewLevels.table(highest: 31)
    six = FewLevels.table(highest: 63)
    let matrix = UnsafeMutablePointer<UInt16>.allocate(capacity: 64)
    for place in 0..<64 {
      let (x, y) = (place & 7, place >> 3)
      var value = 0
      for bit in 0..<3 { value |= ((x ^ y) >> bit & 1) << (5 - 2 * bit) | (y >> bit & 1) << (4 - 2 * bit) }
      matrix[place] = UInt16(value)
    }
    self.matrix = UnsafePointer(matrix)
  }

  private static func table(highest: Int) -> UnsafePointer<UInt16> {
    let table = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
    var level = 0
    for byte in 0..<256 {
      while level < highest, expanded(level + 1, highest) <= byte { level += 1 }
      let below = expanded(level, highest)
      let part = level == highest ? 0 : (byte - below) * 64 / (expanded(level + 1, highest) - below)
      table[byte] = UInt16(level * 64 + part)
    }
    return UnsafePointer(table)
  }

  /// Returns the nearest byte to a level.
  @inline(__always)
  static func expanded(_ level: Int, _ highest: Int) -> Int { (level * 510 + highest) / (2 * highest) }

  /// Returns the dithered levels of an opaque pixel.
  @inline(__always)
  func rgb565(_ pixel: UInt32, x: Int, y: Int) -> UInt16 {
    let lift = matrix[(y & 7) << 3 | x & 7]
    let red = (five[Int(pixel >> 16 & 0xFF)] &+ lift) >> 6
    let green = (six[Int(pixel >> 8 & 0xFF)] &+ lift) >> 6
    let blue = (five[Int(pixel & 0xFF)] &+ lift) >> 6
    return red << 11 | green << 5 | blue
  }

  static func canonical(_ word: UInt16) -> UInt32 {
    let red = expanded(Int(word >> 11), 31)
    let green = expanded(Int(word >> 5 & 63), 63)
    let blue = expanded(Int(word & 31), 31)
    return 0xFF00_0000 | UInt32(red << 16 | green << 8 | blue)
  }
}
