import Testing

@testable import Vitrine

/// The ghost remembers about as many dropped keys as there are entries, and few others.
@Suite struct GhostTests {
  private func key(_ number: Int) -> KeyHash {
    KeyHash(bits: UInt64(number) &* 0xD134_2543_DE82_EF95 & ~0xFFFF | 7)
  }

  /// Returns how many of the keys the ghost finds, and forgets them.
  private func take(_ numbers: Range<Int>, _ ghost: inout Ghost) -> Int {
    var count = 0
    for number in numbers where ghost.take(key(number)) { count += 1 }
    return count
  }

  @Test func aDroppedKeyIsFoundOnce() {
    var ghost = Ghost()
    ghost.resize(entryCount: 800)
    for number in 0..<100 { ghost.note(key(number)) }
    let found = [take(0..<100, &ghost), take(0..<100, &ghost)]
    #expect(found == [100, 0])
  }

  @Test func keysThatWereNotDroppedAreSeldomFound() {
    var ghost = Ghost()
    ghost.resize(entryCount: 8000)
    for number in 0..<8000 { ghost.note(key(number)) }
    // A bucket of eight tags of 15 bits takes another key for its own with a chance of 1 in 4,096.
    let found = take(100_000..<200_000, &ghost)
    #expect(found < 100)
  }

  @Test func oldKeysLeaveFirst() {
    var ghost = Ghost()
    ghost.resize(entryCount: 800)
    for number in 0..<8000 { ghost.note(key(number)) }
    let (old, young) = (take(0..<6000, &ghost), take(7800..<8000, &ghost))
    #expect(old < 100 && young > 190)
  }

  /// Equal styles of different URLs share the low bits of their hashes.
  @Test func keysSpreadOverAllBuckets() {
    var ghost = Ghost()
    ghost.resize(entryCount: 8000)
    for number in 0..<4000 { ghost.note(key(number)) }
    let found = take(0..<4000, &ghost)
    #expect(found > 3800)
  }

  @Test func anotherSizeKeepsMostKeys() {
    for (before, after) in [(800, 8000), (8000, 4000)] {
      var ghost = Ghost()
      ghost.resize(entryCount: before)
      for number in 0..<400 { ghost.note(key(number)) }
      ghost.resize(entryCount: after)
      let found = take(0..<400, &ghost)
      #expect(found > 390, "\(before) to \(after)")
    }
  }

  @Test func withoutEntriesNothingIsRemembered() {
    var ghost = Ghost()
    var found = take(1..<2, &ghost)
    ghost.note(key(1))
    found += take(1..<2, &ghost)
    #expect(found == 0)
  }
}
