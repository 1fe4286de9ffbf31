/// Which items of a scrolling view should be made ready: those in a window along the scroll axis, larger than what is seen
/// and shifted to where the scrolling goes. Pure geometry: it loads nothing.
///
/// ```swift
/// var window = PreheatWindow()
/// let rows = UniformGrid(itemCount: 5000, rowLength: 60)
/// if let change = window.update(visible: offset..<offset + height, in: rows) {
///   preheater.start(change.entered.map { request(of: $0) })
///   preheater.stop(change.left.map { request(of: $0) })
/// }
/// ```
public struct PreheatWindow: Sendable {
  /// What has changed with a move of the window.
  public struct Change: Sendable, Equatable {
    /// Items that came in, those nearest to what is seen first.
    public var entered: [Int]
    /// Items that went out, in ascending order.
    public var left: [Int]
  }

  /// The window's length, of what is seen.
  public var relativeLength: Double
  /// How far its middle is ahead of the middle of what is seen, in the direction of travel.
  public var relativeShift: Double
  /// It is moved once what is seen has moved by more than this much of itself.
  public var relativeThreshold: Double

  /// The items in it.
  public private(set) var items: Range<Int> = 0..<0
  private var last: Range<Double>?

  /// Makes a window without items. All lengths are shares of the visible length.
  public init(relativeLength: Double = 2, relativeShift: Double = 1.0 / 3, relativeThreshold: Double = 1.0 / 3) {
    self.relativeLength = relativeLength
    self.relativeShift = relativeShift
    self.relativeThreshold = relativeThreshold
  }

  /// Tells what has come in and gone out, now that `visible` is seen, in points along the axis; nil while that has not
  /// moved far enough. The first time, and when its length has changed, it always has; the first time there is no
  /// direction, and the window lies evenly around what is seen. O(items that changed).
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

  /// Empties the window: everything in it leaves. The next update is a first one.
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

  /// From the middle of what is seen, so that of two items off the screen the one that comes first is nearer.
  private func distance(_ stretch: Range<Double>, _ seen: Range<Double>) -> Double {
    abs((stretch.lowerBound + stretch.upperBound) / 2 - (seen.lowerBound + seen.upperBound) / 2)
  }
}
