import Testing

@testable import Vitrine

@Suite struct SegmentQueueTests {
  @Test func segmentsComeInTheOrderOfTheirOpening() {
    var queue = SegmentQueue(sweeps: false)
    #expect(queue.rank(3) < queue.rank(4))
    // Segment 1 was kept as a spare, and is opened when the next number is 5.
    queue.open(1, for: .originals, before: 5)
    #expect(queue.rank(4) < queue.rank(1) && queue.rank(1) < queue.rank(5))
  }

  @Test func aSegmentQueuedAgainComesLast() {
    var queue = SegmentQueue(sweeps: false)
    queue.enqueue(2, before: 9)
    queue.enqueue(1, before: 9)
    #expect(queue.rank(8) < queue.rank(2) && queue.rank(2) < queue.rank(1) && queue.rank(1) < queue.rank(9))
    queue.remove(2)
    #expect(queue.rank(2) < queue.rank(3))
  }

  @Test func theStreamTellsWhetherASegmentBelongsToMain() {
    var queue = SegmentQueue(sweeps: false)
    let main = StreamKind.allCases.filter { queue.isMain(7, $0) }
    #expect(main == [.mainOriginals, .mainBitmaps, .returnedOriginals, .returnedBitmaps])
    queue.enqueueInMain(single: 7, before: 9)
    #expect(queue.isMain(7, .single) && !queue.isMain(8, .single) && queue.rank(8) < queue.rank(7))
    queue.remove(7)
    #expect(!queue.isMain(7, .single))
  }

  /// Kept records come before newer ones again, so sweeps reach records in the order of their age.
  @Test func aSweepEndsWithNewSegmentsAndTheNextOneBeginsWithKeptOnes() {
    var queue = SegmentQueue(sweeps: true)
    for segment in 1...3 { queue.open(UInt64(segment), for: .originals, before: 4) }
    queue.reach(1)
    queue.enqueue(1, before: 4)
    queue.open(4, for: .mainOriginals, before: 5)
    queue.open(5, for: .originals, before: 6)
    #expect(([1, 2, 3, 4, 5] as [UInt64]).sorted { queue.rank($0) < queue.rank($1) } == [2, 3, 5, 1, 4])
    // The second sweep begins. A new segment goes to its end, behind the kept ones. Its copies go to the third sweep.
    queue.reach(1)
    queue.open(6, for: .originals, before: 7)
    queue.open(7, for: .mainBitmaps, before: 8)
    queue.enqueue(1, before: 8)
    #expect(([1, 4, 6, 7] as [UInt64]).sorted { queue.rank($0) < queue.rank($1) } == [4, 6, 7, 1])
  }

  /// The present sweep may have kept some records of the segment of copies that it began with.
  @Test func aFullSegmentOfCopiesGoesToTheNextSweep() {
    for sweeps in [true, false] {
      var queue = SegmentQueue(sweeps: sweeps)
      queue.open(1, for: .mainOriginals, before: 2)
      queue.open(2, for: .originals, before: 3)
      queue.reach(1)
      queue.open(3, for: .originals, before: 4)
      queue.close(1, of: .mainOriginals, before: 4)
      queue.close(2, of: .originals, before: 4)
      #expect((queue.rank(3) < queue.rank(1)) == sweeps && queue.rank(2) < queue.rank(3))
    }
  }
}
