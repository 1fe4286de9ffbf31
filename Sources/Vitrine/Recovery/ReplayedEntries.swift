/// The entry of each replayed put. A loss of power may take the records of these entries; then only this list has
/// their sizes. Kept until all of them were checked.
struct ReplayedEntries {
  private var entries: [Change.Displaced] = []
  /// Built for the first lookup; few recoveries need one.
  private var indices: [Location: Int] = [:]
  /// The moves of payloads, in order. `puts` is the number of puts replayed before the move. `moves` numbers the moves
  /// from 1.
  private var movedPayloads: [Location: [(puts: Int, moves: Int, to: Location)]] = [:]
  private var moveCount = 0
  /// By slot, the number of puts replayed before its present segment was made: earlier ones lay in another segment.
  private var firstEntries: [Int: Int] = [:]

  /// Whether puts are noted, because frames are being replayed.
  var isNoting = false

  var isEmpty: Bool { entries.isEmpty }

  /// Drops all entries.
  mutating func forget() {
    let isNoting = isNoting
    self = ReplayedEntries()
    self.isNoting = isNoting
  }

  mutating func expect(_ count: Int) { entries.reserveCapacity(entries.count + count) }

  mutating func note(_ put: Change.Put) {
    if !indices.isEmpty { indices[put.location] = entries.count }
    entries.append(Change.Displaced(entered: put))
  }

  /// A segment was made in a slot.
  mutating func noteSegment(slot: Int) { firstEntries[slot] = entries.count }

  private func isOfPresentSegment(_ index: Int) -> Bool { index >= firstEntries[entries[index].location.slot] ?? 0 }

  mutating func note(_ move: Change.Move) {
    moveCount += 1
    movedPayloads[move.from, default: []].append((entries.count, moveCount, move.to))
  }

  /// Returns, by slot, the least offset of a record that was put.
  func leastOffsets() -> [Int: Int] {
    var offsets: [Int: Int] = [:]
    for (index, entry) in entries.enumerated() where isOfPresentSegment(index) {
      let slot = entry.location.slot
      offsets[slot] = min(offsets[slot] ?? .max, entry.location.offset)
    }
    return offsets
  }

  /// Returns the entry that was put at `location`, with the current location of its payload.
  mutating func entry(at location: Location) -> Change.Displaced? {
    if indices.isEmpty {
      for (index, entry) in entries.enumerated() { indices[entry.location] = index }
    }
    guard let index = indices[location], isOfPresentSegment(index) else { return nil }
    var entry = entries[index]
    // A place may have been used again. Then the moves from it before the put belong to another payload.
    var moves = 0
    while let move = movedPayloads[entry.contentLocation]?.first(where: { $0.puts > index && $0.moves > moves }) {
      entry.contentLocation = move.to
      moves = move.moves
    }
    return entry
  }
}
