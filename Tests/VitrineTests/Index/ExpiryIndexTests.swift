import Testing

@testable import Vitrine

@Suite struct ExpiryIndexTests {
  private func hash(_ number: Int) -> KeyHash {
    KeyHash(url: UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15, styleTag: 7).stored
  }

  private func enter(_ numbers: Range<Int>, in writer: inout KeyTableWriter, _ flags: KeySlot.Flags = .expires) {
    for number in numbers {
      let slot = KeySlot(hash(number), Location(slot: 1, offset: 64 * (number + 1)), flags)
      let isEntered = writer.insert(slot, hash(number))
      #expect(isEntered)
    }
  }

  @Test func dueNotesAreTakenOnceAndOthersStay() {
    var writer = KeyTableWriter()
    enter(0..<5000, in: &writer)
    let index = ExpiryIndex(keys: writer.table, turn: 3)
    var random = SeededRandom(seed: 4)
    var due: [UInt64: Int64] = [:]
    for number in 0..<5000 {
      let moment = Int64(random.below(10_000))
      due[hash(number).bits] = moment
      index.note(hash(number), due: moment)
    }
    #expect(index.count == 5000)
    for now in stride(from: Int64(0), to: 10_001, by: 777) {
      while true {
        let notes = index.takeDue(at: now, most: 100)
        #expect(notes.count <= 100)
        for note in notes {
          let noted = due.removeValue(forKey: note.hash.bits)
          #expect(note.due <= now && noted == note.due)
        }
        if notes.isEmpty { break }
      }
      #expect(due.values.allSatisfy { $0 > now } && index.count == due.count)
      #expect(!index.isDue(at: now))
    }
  }

  @Test func theEarliestNoteOfAHashIsKept() {
    var writer = KeyTableWriter()
    enter(0..<1, in: &writer)
    let index = ExpiryIndex(keys: writer.table)
    for moment in 0..<1_000_000 { index.note(hash(0), due: Int64(1_000_000 - moment)) }
    #expect(index.count < 64)
    #expect(index.takeDue(at: 1, most: 1).map(\.due) == [1])
  }

  @Test func notesOfRemovedKeysAreDropped() {
    var writer = KeyTableWriter()
    enter(0..<1000, in: &writer)
    let index = ExpiryIndex(keys: writer.table)
    for number in 0..<100_000 { index.note(hash(number), due: 5) }
    // 24 bytes an entry, and the minimum of each shard.
    #expect(index.count <= 1000 * 3 / 2 + 64 * 64)
    let taken = Set(index.takeDue(at: 5, most: .max).map(\.hash.bits))
    #expect((0..<1000).allSatisfy { taken.contains(hash($0).bits) })
  }

  @Test func entriesThatMayExpireAreNotedAsDueAtOnce() {
    var writer = KeyTableWriter()
    enter(0..<2000, in: &writer)
    enter(2000..<3000, in: &writer, [])
    for turn in 0..<70 {
      let index = ExpiryIndex(keys: writer.table, turn: turn)
      #expect(!index.isDue(at: .max - 1))
      index.noteEach(all: false)
      #expect(index.count == 2000)
      index.noteEach(all: true)
      #expect(index.count == 3000, "once for each")
      #expect(Set(index.takeDue(at: 0, most: .max).map(\.hash.bits)).count == 3000)
    }
  }
}
