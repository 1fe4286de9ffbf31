/// A bar of fixed width, divided among several quantities.
public struct Bar: Sendable {
  /// The characters bars are drawn with.
  public struct Symbols: Sendable {
    public let live: Character
    public let dead: Character
    public let free: Character

    public static let blocks = Symbols(live: "█", dead: "▒", free: "·")
    public static let ascii = Symbols(live: "#", dead: "x", free: ".")
  }

  public let symbols: Symbols
  /// In characters.
  public let width: Int

  public init(symbols: Symbols, width: Int) {
    self.symbols = symbols
    self.width = width
  }

  /// Draws live, dead and free as parts of their sum. A part that is not zero gets at least one character, as long
  /// as they fit; the bar of a zero sum is blank.
  public func text(live: Int, dead: Int, free: Int) -> String {
    let cells = Bar.divide(width, among: [live, dead, free])
    return String(repeating: symbols.live, count: cells[0]) + String(repeating: symbols.dead, count: cells[1])
      + String(repeating: symbols.free, count: cells[2])
      + String(repeating: " ", count: width - cells.reduce(0, +))
  }

  /// Draws `part` of `whole`, with the rest as free.
  public func text(_ part: Int, of whole: Int) -> String {
    text(live: min(part, whole), dead: 0, free: max(0, whole - part))
  }

  /// Draws `part` as a bar whose full width stands for `largest`. The rest of the width is left out.
  public func plain(_ part: Int, of largest: Int) -> String {
    String(repeating: symbols.live, count: Bar.divide(width, among: [part, max(0, largest - part)])[0])
  }

  /// Returns whole cells for each part, by its share; the largest part takes the rounding difference.
  static func divide(_ width: Int, among parts: [Int]) -> [Int] {
    let parts = parts.map { max(0, $0) }
    let whole = parts.reduce(0.0) { $0 + Double($1) }
    guard whole > 0, width > 0 else { return parts.map { _ in 0 } }
    var cells = parts.map { part in
      part == 0 ? 0 : max(1, Int((Double(part) / whole * Double(width)).rounded()))
    }
    while true {
      let difference = width - cells.reduce(0, +)
      guard difference != 0, let largest = cells.indices.max(by: { cells[$0] < cells[$1] }) else {
        return cells
      }
      cells[largest] += difference.signum()
    }
  }
}
