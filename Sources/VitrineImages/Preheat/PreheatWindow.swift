/// Computes the items of a scrolling view to preheat: those in a window along the scroll axis. The window is larger
/// than the visible stretch and shifted in the direction of scrolling. Pure geometry; it loads nothing.
///
/// ```swift
/// var window = PreheatWindow()
/// let rows = UniformGrid(itemCount: 5000, rowLength: 60)
/// if let change = window.update(visible: offset..<offset + height, in: rows) {
///   pipeline.startPreheating(change.entered.map { request(of: $0) })
///   pipeline.stopPreheating(change.left.map { request(of: $0) })
/// }
/// ```
public struct PreheatWindow: Sendable {
  /// The change of a window's items.
  public struct Change: Sendable, Equatable {
    /// Items that entered, the nearest to the visible middle first.
    public var entered: [Int]
    /// Items that left, in ascending order.
    public var left: [Int]
  }

  /// The window's length, as a multiple of the visible length.
  public var relativeLength: Double
  /// The distance of the window's middle ahead of the visible middle, as a share of the visible length.
  public var relativeShift: Double
  /// The smallest movement that moves the window, as a share of the visible length.
  public var relativeThreshold: Double

  /// The items in the window.
  public private(set) var items: Range<Int> = 0..<0
  private var last: Range<Double>?

  /// Creates a window without items. All lengths are shares of the visible length.
  public init(relativeLength: Double = 2, relativeShift: Double = 1.0 / 3, relativeThreshold: Double = 1.0 / 3) {
    self.relativeLength = relativeLength
    self.relativeShift = relativeShift
    self.relativeThreshold = relativeThreshold
  }

  /// Moves the window to the visible stretch, in points along the axis. Returns the items that entered and left, or
  /// nil if the visible stretch has not moved beyond the threshold. The first call, and a call with a new length,
  /// always move the window. The first window lies evenly around the visible stretch, since there is no direction yet.
  /// O(items that changed).
  public mutating func update(visible: Range<Double>, in layout: some ItemLayout) -> Change? {
    let length = visible.upperBound - visible.lowerBound
    guard length > 0, length.isFinite else { return nil }
    var direction = 0.0
    if let last {
      let moved = visible.lowerBound - last.lowerBound
      let isSameLength = last.upperBound - last.lowerBound == length
      if isSameLength, abs(moved) <= relativeThreshold * length { return nil }
      direction = moved > 0 ? 1 : moved < 0 ? -1 : 0
    }
    last = visible
    let middle = visible.lowerBound + length * (0.5 + direction * relativeShift)
    let half = length * max(relativeLength, 0) / 2
    let isSound = middle - half < middle + half
    return move(to: layout.items(in: isSound ? middle - half..<middle + half : visible), layout, seen: visible)
  }

  /// Empties the window and returns its items as left. The next update counts as the first.
  public mutating func reset() -> Change {
    defer {
      items = 0..<0
      last = nil
    }
    return Change(entered: [], left: Array(items))
  }

  private mutating func move(
    to new: Range<Int>, _ layout: some ItemLayout, seen: Range<Double>
  ) -> Change {
    let old = items
    items = new
    let entered = PreheatWindow.difference(new, old).map { ($0, distance(layout.stretch(of: $0), seen)) }
      .sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map(\.0)
    return Change(entered: entered, left: PreheatWindow.difference(old, new))
  }

  private static func difference(_ a: Range<Int>, _ b: Range<Int>) -> [Int] {
    if !a.overlaps(b) { return Array(a) }
    return Array(a.lowerBound..<max(a.lowerBound, b.lowerBound))
      + Array(min(a.upperBound, b.upperBound)..<a.upperBound)
  }

  /// Measures from the visible middle, so that of two items outside the screen the closer one comes first.
  private func distance(_ stretch: Range<Double>, _ seen: Range<Double>) -> Double {
    abs((stretch.lowerBound + stretch.upperBound) / 2 - (seen.lowerBound + seen.upperBound) / 2)
  }
}
