import Testing

@testable import VitrineImages

@Suite struct RecencyListTests {
  /// Compares the list with an array from the oldest to the newest.
  @Test func listMatchesAnArrayInTheOrderOfUse() {
    var random = SeededRandom(seed: 5)
    var list = RecencyList<Int, Int>()
    var model: [(key: Int, value: Int)] = []
    for step in 0..<20_000 {
      let key = random.below(30)
      let place = model.firstIndex { $0.key == key }
      switch random.below(6) {
      case 0, 1:
        #expect(list.insert(step, key) == place.map { model[$0].value })
        if let place { model.remove(at: place) }
        model.append((key, step))
      case 2:
        #expect(list.use(key) == place.map { model[$0].value })
        if let place { model.append(model.remove(at: place)) }
      case 3:
        #expect(list.remove(key) == place.map { model[$0].value })
        if let place { model.remove(at: place) }
      case 4:
        let oldest = list.removeOldest()
        #expect(oldest?.key == model.first?.key && oldest?.value == model.first?.value)
        if !model.isEmpty { model.removeFirst() }
      default:
        if place == nil {
          list.insertAsOldest(step, key)
          model.insert((key, step), at: 0)
        }
        #expect(list.value(key) == model.first { $0.key == key }?.value)
      }
      #expect(list.count == model.count && list.oldest?.key == model.first?.key)
    }
    while let oldest = list.removeOldest() { #expect(oldest.key == model.removeFirst().key) }
    #expect(model.isEmpty)
  }
}
