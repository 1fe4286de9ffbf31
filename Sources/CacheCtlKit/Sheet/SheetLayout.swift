/// The layout of a contact sheet, in pixels: a heading, and below it rows of cells, each with a picture and some
/// lines of text under it.
public struct SheetLayout: Sendable, Equatable {
  public static let margin = 16
  public static let gap = 16
  /// Between a picture and the text under it.
  static let captionGap = 5
  public static let headingHeight = 2 * Canvas.lineHeight + 18
  /// The usual width of a sheet: that of a screen.
  static let usualWidth = 1216

  public let pictureWidth: Int
  public let pictureHeight: Int
  public let captionLines: Int
  public let columns: Int
  public let rows: Int

  /// A layout for `count` pictures, each at most `side` wide and three quarters of that high.
  public init(count: Int, side: Int, captionLines: Int) {
    pictureWidth = side
    pictureHeight = max(1, side * 3 / 4)
    self.captionLines = captionLines
    let most = max(1, (SheetLayout.usualWidth - 2 * SheetLayout.margin + SheetLayout.gap) / (side + SheetLayout.gap))
    columns = max(1, min(most, count))
    rows = (count + columns - 1) / columns
  }

  public var cellHeight: Int { pictureHeight + SheetLayout.captionGap + captionLines * Canvas.lineHeight }

  /// At least wide enough for a heading.
  public var width: Int {
    max(2 * SheetLayout.margin + columns * (pictureWidth + SheetLayout.gap) - SheetLayout.gap, 480)
  }

  public var height: Int {
    SheetLayout.headingHeight + 2 * SheetLayout.margin
      + max(0, rows * (cellHeight + SheetLayout.gap) - SheetLayout.gap)
  }

  public var headingLetters: Int { (width - 2 * SheetLayout.margin) / Canvas.letterWidth }
  public var captionLetters: Int { pictureWidth / Canvas.letterWidth }

  /// The upper left corner of a picture's cell.
  public func place(_ index: Int) -> (x: Int, y: Int) {
    (
      SheetLayout.margin + index % columns * (pictureWidth + SheetLayout.gap),
      SheetLayout.headingHeight + SheetLayout.margin + index / columns * (cellHeight + SheetLayout.gap)
    )
  }

  /// The upper left corner of a line of text under a picture.
  public func captionPlace(_ index: Int, line: Int) -> (x: Int, y: Int) {
    let place = place(index)
    return (place.x, place.y + pictureHeight + SheetLayout.captionGap + line * Canvas.lineHeight)
  }
}

extension String {
  /// Cut to `width` characters, in the middle: URLs differ mostly at their end.
  public func shortenedInTheMiddle(to width: Int) -> String {
    guard count > width else { return self }
    guard width > 2 else { return String(suffix(Swift.max(0, width))) }
    let front = (width - 1) / 3
    return prefix(front) + "…" + suffix(width - 1 - front)
  }
}
