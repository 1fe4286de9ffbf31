import Testing

@testable import Vitrine

/// The entries of a style with a budget leave in the order of their uses.
@Suite struct StyleOrderTests {
  /// An eviction chooses more victims than it removes.
  @Test func chosenVictimsThatStayGoFirstLater() throws {
    let style = Style("square-60")!
    let store = try TestWorld(fileSystem: MemoryDisk()).open(
      "store", StoreOptions(byteBudget: 16 << 20, styleBudgets: [style: StyleBudget(byteCount: 600_000)]))
    for number in 0..<700 {
      try store.put(noise(1000, UInt64(number)), for: "u\(number)", style: style)
      if number >= 600 {
        let isThere = store.contains("u\(number - 600)", style: style)
        try #require(!isThere, "u\(number - 600)")
      }
    }
    let left = (0..<700).filter { store.contains("u\($0)", style: style) }
    #expect(left == Array(100..<700))
    try store.close()
  }
}
