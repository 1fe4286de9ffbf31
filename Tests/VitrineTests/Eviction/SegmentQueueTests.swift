import Testing

@testable import Vitrine

@Suite struct SegmentQueueTests {
  @Test func segmentsComeInTheOrderOfTheirOpening() {
    var queue = SegmentQueue()
    #expect(queue.rank(3) < queue.rank(4))
    // Segment 1 was kept as a spare, and is opened when the next number is 5.
    queue.enqueue(1, before: 5)
    #expect(queue.rank(4) < queue.rank(1) && queue.rank(1) < queue.rank(5))
  }

  @Test func aSegmentQueuedAgainComesLast() {
    var queue = SegmentQueue()
    queue.enqueue(2, before: 9)
    queue.enqueue(1, before: 9)
    #expect(queue.rank(8) < queue.rank(2) && queue.rank(2) < queue.rank(1) && queue.rank(1) < queue.rank(9))
    queue.remove(2)
    #expect(queue.rank(2) < queue.rank(3))
  }

  @Test func theStreamTellsWhetherASegmentBelongsToMain() {
    var queue = SegmentQueue()
    let main = StreamKind.allCases.filter { queue.isMain(7, $0) }
    #expect(main == [.mainOriginals, .mainBitmaps, .returnedOriginals, .returnedBitmaps])
    queue.enqueueInMain(single: 7, before: 9)
    #expect(queue.isMain(7, .single) && !queue.isMain(8, .single) && queue.rank(8) < queue.rank(7))
    queue.remove(7)
    #expect(!queue.isMain(7, .single))
  }
}
