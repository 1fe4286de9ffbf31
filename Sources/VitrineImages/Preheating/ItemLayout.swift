/// Where the items of a scrolling view lie along its axis.
public protocol ItemLayout {
  /// The items of which something lies in a stretch of the axis, in points. Items follow each other along the axis.
  func items(in stretch: Range<Double>) -> Range<Int>
  /// The stretch that an item takes.
  func stretch(of item: Int) -> Range<Double>
}

/// A list or a grid of items of one size.
public struct UniformGrid: ItemLayout, Sendable, Hashable {
  /// Items in all.
  public var itemCount: Int
  /// Items side by side; 1 for a list.
  public var columnCount: Int
  /// Points along the axis from one row's start to the next one's.
  public var rowLength: Double
  /// Where the first row begins.
  public var start: Double

  /// Makes a grid. Counts below their least become 0 items and 1 column; a row length that is not finite becomes 1.
  public init(itemCount: Int, columnCount: Int = 1, rowLength: Double, start: Double = 0) {
    self.itemCount = max(0, itemCount)
    self.columnCount = max(1, columnCount)
    self.rowLength = rowLength.isFinite ? max(rowLength, .leastNonzeroMagnitude) : 1
    self.start = start.isFinite ? start : 0
  }

  /// The items whose rows lie in a stretch, at least in part. Empty for an empty stretch. O(1).
  public func items(in stretch: Range<Double>) -> Range<Int> {
    if stretch.isEmpty { return 0..<0 }
    let first = row(((stretch.lowerBound - start) / rowLength).rounded(.down))
    let last = row(((stretch.upperBound - start) / rowLength).rounded(.up))
    return min(first * columnCount, itemCount)..<min(last * columnCount, itemCount)
  }

  /// The stretch of the row of an item, in points. O(1).
  public func stretch(of item: Int) -> Range<Double> {
    let begin = start + Double(item / columnCount) * rowLength
    return begin..<begin + rowLength
  }

  private var rowCount: Int { (itemCount + columnCount - 1) / columnCount }
  private func row(_ number: Double) -> Int { number.isNaN ? 0 : Int(min(max(number, 0), Double(rowCount))) }
}
