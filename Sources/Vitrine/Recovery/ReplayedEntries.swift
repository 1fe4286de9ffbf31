/// What each replayed put entered. A loss of power may take the records of these entries, and then nothing else tells what
/// they took. Kept until all of them were checked.
struct ReplayedEntries {
  private var entries: [Change.Displaced] = []
  /// Made on the first question, which few recoveries ask.
  private var indices: [Location: Int] = [:]
  /// Where payloads have been moved to since then, in order: with how many puts had been replayed, and how many moves.
  private var movedPayloads: [Location: [(puts: Int, moves: Int, to: Location)]] = [:]
  private var moveCount = 0

  var isEmpty: Bool { entries.isEmpty }

  mutating func expect(_ count: Int) { entries.reserveCapacity(entries.count + count) }

  mutating func note(_ put: Change.Put) {
    if !indices.isEmpty { indices[put.location] = entries.count }
    entries.append(Change.Displaced(entered: put))
  }

  mutating func note(_ move: Change.Move) {
    moveCount += 1
    movedPayloads[move.from, default: []].append((entries.count, moveCount, move.to))
  }

  /// By slot, the least offset of a record that was put.
  func leastOffsets() -> [Int: Int] {
    var offsets: [Int: Int] = [:]
    for entry in entries {
      let slot = entry.location.slot
      offsets[slot] = min(offsets[slot] ?? .max, entry.location.offset)
    }
    return offsets
  }

  /// What the entry at `location` took, its payload where it is by now.
  mutating func entry(at location: Location) -> Change.Displaced? {
    if indices.isEmpty {
      for (index, entry) in entries.enumerated() { indices[entry.location] = index }
    }
    guard let index = indices[location] else { return nil }
    var entry = entries[index]
    // A place may have been given anew: what was moved from it before the put was another's.
    var moves = 0
    while let move = movedPayloads[entry.contentLocation]?.first(where: { $0.puts > index && $0.moves > moves }) {
      entry.contentLocation = move.to
      moves = move.moves
    }
    return entry
  }
}
