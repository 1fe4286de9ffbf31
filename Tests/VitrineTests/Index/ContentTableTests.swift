import Testing

@testable import Vitrine

@Suite struct ContentTableTests {
  @Test(arguments: RandomRuns.seeds([1, 2, 3]), [0..<1 << 24, (1 << 24 - 20)..<1 << 24, 5..<6])
  func randomChangesMatchADictionary(_ seed: UInt64, _ tags: Range<Int>) {
    struct Blob: Hashable {
      let hash: ContentHash
      let location: Location
    }
    var random = SeededRandom(seed: seed)
    var tableWriter = ContentTableWriter()
    let table = tableWriter.table
    var model: [Blob: Int] = [:]
    var known: [Blob] = []
    for step in 0..<5000 {
      let tag = UInt64(random.below(2)) << 58 | UInt64(tags.lowerBound + random.below(tags.count)) << 34
      let old = random.chance(60) ? known.randomElement(using: &random) : nil
      if let blob = old, let count = model[blob] {
        if random.chance(55) {
          #expect(tableWriter.retain(blob.hash, blob.location) == true)
          model[blob] = count + 1
        } else {
          #expect(tableWriter.release(blob.hash, blob.location) == count - 1)
          model[blob] = count > 1 ? count - 1 : nil
        }
      } else {
        let blob = Blob(hash: ContentHash(bits: tag), location: Location(bits: UInt64(step + 1)))
        let count = random.chance(10) ? 1 + random.below(6) : 1
        #expect(tableWriter.insert(blob.hash, blob.location, count: count) == true)
        model[blob] = count
        known.append(blob)
      }
    }
    for (blob, count) in model {
      #expect(table.count(blob.hash, blob.location) == count, "\(RandomRuns.repeating(seed, "ContentTable"))")
      var isCandidate = false
      table.candidates(blob.hash) { location in
        isCandidate = isCandidate || location == blob.location
        return true
      }
      #expect(isCandidate)
    }
    #expect((0..<64).reduce(0) { $0 + table.count(shard: $1) } == model.count)
    #expect(table.largeCounts.count == model.values.count { $0 > 3 })
    // The words of a checkpoint are enough to enter the same again.
    let copyWriter = ContentTableWriter()
    let copy = copyWriter.table
    for shard in 0..<ContentTable.shardCount {
      var words: [UInt64] = []
      table.forEach(shard: shard) { words.append($0) }
      var next = words.makeIterator()
      #expect(copyWriter.fill(shard: shard, count: words.count) { next.next() } == true)
    }
    for (location, count) in table.largeCounts { copyWriter.setLargeCount(count, of: location) }
    for (blob, count) in model { #expect(copy.count(blob.hash, blob.location) == count) }
  }

  @Test func blobIsRemovedWithItsLastKey() {
    var tableWriter = ContentTableWriter()
    let table = tableWriter.table
    let hash = ContentHash(bits: 0x1234_5678_0000_0000)
    let place = Location(bits: 9)
    #expect(tableWriter.release(hash, place) == nil)
    #expect(tableWriter.insert(hash, place) == true)
    for count in 2...10 {
      #expect(tableWriter.retain(hash, place) == true)
      #expect(table.count(hash, place) == count)
    }
    for left in (0..<10).reversed() { #expect(tableWriter.release(hash, place) == left) }
    #expect(table.count(hash, place) == 0)
    #expect(tableWriter.retain(hash, place) == false)
    #expect(table.largeCounts.isEmpty)
  }
}
