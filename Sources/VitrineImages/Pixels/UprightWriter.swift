/// Writes the rows of a stored picture into an upright bitmap. The producer of the rows mirrors the columns if needed;
/// this class mirrors the rows, and exchanges rows and columns.
///
/// If rows become columns, it collects 16 rows first. Written one by one, each pixel would touch a separate cache
/// line. Single-threaded.
final class UprightWriter {
  private static let blockHeight = 16

  private let target: PixelTarget
  private let orientation: Orientation
  /// The size of the stored picture in pixels.
  private let size: PixelSize
  /// The collected rows.
  private let block: PixelMemory
  private let strip: PixelMemory

  /// Throws `outOfMemory`.
  init(_ target: PixelTarget, _ orientation: Orientation) throws(ImageError) {
    self.target = target
    self.orientation = orientation
    size = orientation.applied(to: PixelSize(width: target.layout.width, height: target.layout.height))
    block = try PixelMemory(byteCount: size.width * 4 * (orientation.transposes ? UprightWriter.blockHeight : 1))
    strip = try PixelMemory(byteCount: UprightWriter.blockHeight * 4)
  }

  private func slot(_ index: Int) -> UnsafeMutablePointer<UInt32> {
    block.bytes.baseAddress!.assumingMemoryBound(to: UInt32.self) + index * size.width
  }

  /// Writes row `y` of the stored picture, whose pixels `body` produces. Rows must come in order, from top to bottom.
  func write(row y: Int, _ body: (UnsafeMutablePointer<UInt32>) -> Void) {
    precondition(y >= 0 && y < size.height)
    let place = orientation.mirrorsRows ? size.height - 1 - y : y
    guard orientation.transposes else {
      body(slot(0))
      target.put(slot(0), count: size.width, x: 0, y: place)
      return
    }
    let index = place % UprightWriter.blockHeight
    body(slot(index))
    let isLast = orientation.mirrorsRows ? index == 0 : index == UprightWriter.blockHeight - 1 || y == size.height - 1
    guard isLast else { return }
    let first = place - index
    let count = min(UprightWriter.blockHeight, size.height - first)
    let pixels = strip.bytes.baseAddress!.assumingMemoryBound(to: UInt32.self)
    let rows = slot(0)
    for column in 0..<size.width {
      for row in 0..<count { pixels[row] = rows[row * size.width + column] }
      target.put(pixels, count: count, x: first, y: column)
    }
  }
}
