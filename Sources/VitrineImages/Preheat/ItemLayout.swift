/// The positions of a scrolling view's items along its axis.
public protocol ItemLayout {
  /// Returns the items that overlap a stretch of the axis, in points. Items must follow each other along the axis.
  func items(in stretch: Range<Double>) -> Range<Int>
  /// Returns the stretch of an item, in points.
  func stretch(of item: Int) -> Range<Double>
}

/// A list or grid of items of equal size.
public struct UniformGrid: ItemLayout, Sendable, Hashable {
  /// The number of items.
  public var itemCount: Int
  /// The number of items side by side; 1 for a list.
  public var columnCount: Int
  /// The distance between the starts of two rows, in points.
  public var rowLength: Double
  /// The start of the first row, in points.
  public var start: Double

  /// Creates a grid. Counts are raised to at least 0 items and 1 column. A row length that is not finite becomes 1.
  public init(itemCount: Int, columnCount: Int = 1, rowLength: Double, start: Double = 0) {
    self.itemCount = max(0, itemCount)
    self.columnCount = max(1, columnCount)
    self.rowLength = rowLength.isFinite ? max(rowLength, .leastNonzeroMagnitude) : 1
    self.start = start.isFinite ? start : 0
  }

  /// Returns the items whose rows overlap a stretch. Empty for an empty stretch. O(1).
  public func items(in stretch: Range<Double>) -> Range<Int> {
    if stretch.isEmpty { return 0..<0 }
    let first = row(((stretch.lowerBound - start) / rowLength).rounded(.down))
    let last = row(((stretch.upperBound - start) / rowLength).rounded(.up))
    return min(first * columnCount, itemCount)..<min(last * columnCount, itemCount)
  }

  /// Returns the stretch of an item's row, in points. O(1).
  public func stretch(of item: Int) -> Range<Double> {
    let begin = start + Double(item / columnCount) * rowLength
    return begin..<begin + rowLength
  }

  private var rowCount: Int { (itemCount + columnCount - 1) / columnCount }
  private func row(_ number: Double) -> Int { number.isNaN ? 0 : Int(min(max(number, 0), Double(rowCount))) }
}
