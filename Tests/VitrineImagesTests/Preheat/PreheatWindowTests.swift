import Testing
import VitrineImages

@Suite struct PreheatWindowTests {
  let rows = UniformGrid(itemCount: 5000, rowLength: 60)

  private func required(_ change: PreheatWindow.Change?) throws -> PreheatWindow.Change { try #require(change) }
  private func isThere(_ change: PreheatWindow.Change?) -> Bool { change != nil }

  @Test func firstWindowIsCenteredOnTheVisibleItems() throws {
    var window = PreheatWindow()
    let change = try required(window.update(visible: 6000..<6600, in: rows))
    // Twice ten rows: five before the visible ones, and five after.
    #expect(window.items == 95..<115 && change.left == [])
    #expect(Set(change.entered) == Set(95..<115))
    // Rows enter from the middle outward.
    #expect(change.entered.prefix(2) == [104, 105] && change.entered.suffix(2) == [95, 114])
  }

  @Test func smallMoveChangesNothing() throws {
    var window = PreheatWindow()
    #expect(isThere(window.update(visible: 0..<600, in: rows)))
    #expect(!isThere(window.update(visible: 200..<800, in: rows)))
    #expect(isThere(window.update(visible: 201..<801, in: rows)))
    // The distance counts from the window's last move.
    #expect(!isThere(window.update(visible: 400..<1000, in: rows)))
  }

  @Test func windowRunsAheadInTheDirectionOfTravel() throws {
    var window = PreheatWindow()
    _ = window.update(visible: 6000..<6600, in: rows)
    let down = try required(window.update(visible: 6300..<6900, in: rows))
    // The middle is at 6600 + 200, so the window spans 6200 to 7400.
    #expect(window.items == 103..<124)
    #expect(down.left == Array(95..<103) && down.entered == Array(115..<124))
    let up = try required(window.update(visible: 6000..<6600, in: rows))
    #expect(window.items == 91..<112)
    #expect(up.entered == Array((91..<103).reversed()) && up.left == Array(112..<124))
  }

  @Test func jumpReplacesAllItems() throws {
    var window = PreheatWindow()
    let first = try required(window.update(visible: 0..<600, in: rows))
    let jump = try required(window.update(visible: 120_000..<120_600, in: rows))
    #expect(jump.left == first.entered.sorted() && Set(jump.entered) == Set(window.items))
  }

  @Test func resetRemovesAllItems() throws {
    var window = PreheatWindow()
    _ = window.update(visible: 0..<600, in: rows)
    let items = window.items
    let reset = window.reset()
    #expect(reset.entered == [] && reset.left == Array(items))
    let second = window.reset()
    #expect(window.items.isEmpty && second.left == [])
    let again = try required(window.update(visible: 0..<600, in: rows))
    #expect(again.entered.count == items.count)
  }

  @Test func windowEndsAtTheEndsOfTheList() throws {
    var window = PreheatWindow()
    _ = window.update(visible: -100..<500, in: rows)
    #expect(window.items == 0..<14)
    _ = window.update(visible: 299_700..<300_300, in: rows)
    #expect(window.items.upperBound == 5000)
    let beyond = try required(window.update(visible: 400_000..<400_600, in: rows))
    #expect(beyond.entered == [])
  }

  @Test func gridEntersByWholeRows() throws {
    var window = PreheatWindow(relativeLength: 1, relativeShift: 0)
    let grid = UniformGrid(itemCount: 100, columnCount: 4, rowLength: 100)
    _ = window.update(visible: 150..<350, in: grid)
    #expect(window.items == 4..<16)
    #expect(grid.stretch(of: 7) == 100..<200)
  }

  @Test func nonfiniteNumbersDoNoHarm() {
    var window = PreheatWindow(relativeLength: .infinity, relativeShift: .nan)
    #expect(!isThere(window.update(visible: 0..<0, in: rows)))
    #expect(!isThere(window.update(visible: 0..<(.infinity), in: rows)))
    _ = window.update(visible: 0..<600, in: rows)
    #expect(UniformGrid(itemCount: -5, columnCount: 0, rowLength: .nan).items(in: 0..<10).isEmpty)
    var changed = UniformGrid(itemCount: 100, columnCount: 4, rowLength: 100)
    changed.columnCount = 0
    #expect(changed.columnCount == 1 && changed.items(in: 0..<10) == 0..<1)
    changed.columnCount = .max
    #expect(changed.items(in: 0..<1000) == 0..<100 && changed.items(in: 100..<1000).isEmpty)
    changed.itemCount = .max
    #expect(changed.items(in: 0..<1000) == 0..<Int.max)
    (changed.columnCount, changed.rowLength, changed.start) = (1, -1, .nan)
    #expect(changed.start == 0 && changed.rowLength > 0)
    #expect(changed.items(in: -10..<1e300) == 0..<Int.max)
  }

  /// A caller that applies all changes holds exactly the items of the window, however the list scrolls.
  @Test(arguments: 0..<20) func changesAddUpToTheWindow(_ seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var window = PreheatWindow(relativeLength: 2 + Double(seed % 3))
    var held: Set<Int> = []
    var offset = 0.0
    for _ in 0..<300 {
      offset += Double.random(in: -900...900, using: &random)
      guard let change = window.update(visible: offset..<offset + 600, in: rows) else { continue }
      #expect(held.isDisjoint(with: change.entered) && held.isSuperset(of: change.left))
      held.formUnion(change.entered)
      held.subtract(change.left)
      #expect(held == Set(window.items))
    }
  }
}
