/// The positions of a scrolling view's items along its axis.
public protocol ItemLayout {
  /// Returns the items that overlap a stretch of the axis, in points. Items must follow each other along the axis.
  func items(in stretch: Range<Double>) -> Range<Int>
  /// Returns the stretch of an item, in points.
  func stretch(of item: Int) -> Range<Double>
}

/// A list or grid of items of equal size.
public struct UniformGrid: ItemLayout, Sendable, Hashable {
  /// The number of items. A negative number becomes 0.
  public var itemCount: Int {
    didSet { itemCount = max(0, itemCount) }
  }
  /// The number of items side by side; 1 for a list. A smaller number becomes 1.
  public var columnCount: Int {
    didSet { columnCount = max(1, columnCount) }
  }
  /// The distance between the starts of two rows, in points. A length that is not finite becomes 1.
  public var rowLength: Double {
    didSet { rowLength = UniformGrid.usable(rowLength: rowLength) }
  }
  /// The start of the first row, in points. A start that is not finite becomes 0.
  public var start: Double {
    didSet { start = UniformGrid.usable(start: start) }
  }

  /// Creates a grid. Values out of range are corrected as those of the properties are.
  public init(itemCount: Int, columnCount: Int = 1, rowLength: Double, start: Double = 0) {
    self.itemCount = max(0, itemCount)
    self.columnCount = max(1, columnCount)
    self.rowLength = UniformGrid.usable(rowLength: rowLength)
    self.start = UniformGrid.usable(start: start)
  }

  private static func usable(rowLength: Double) -> Double {
    rowLength.isFinite ? max(rowLength, .leastNonzeroMagnitude) : 1
  }

  private static func usable(start: Double) -> Double { start.isFinite ? start : 0 }

  /// Returns the items whose rows overlap a stretch. Empty for an empty stretch. O(1).
  public func items(in stretch: Range<Double>) -> Range<Int> {
    if stretch.isEmpty { return 0..<0 }
    let first = row(((stretch.lowerBound - start) / rowLength).rounded(.down))
    let last = row(((stretch.upperBound - start) / rowLength).rounded(.up))
    return firstItem(ofRow: first)..<firstItem(ofRow: last)
  }

  /// Returns the stretch of an item's row, in points. O(1).
  public func stretch(of item: Int) -> Range<Double> {
    let begin = start + Double(item / columnCount) * rowLength
    return begin..<begin + rowLength
  }

  private var rowCount: Int { itemCount / columnCount + (itemCount % columnCount > 0 ? 1 : 0) }

  /// The first item of a row, or ``itemCount`` behind the last row.
  private func firstItem(ofRow row: Int) -> Int {
    let (item, overflows) = row.multipliedReportingOverflow(by: columnCount)
    return overflows ? itemCount : min(item, itemCount)
  }

  private func row(_ number: Double) -> Int {
    if number.isNaN { return 0 }
    return number >= Double(rowCount) ? rowCount : Int(max(number, 0))
  }
}
