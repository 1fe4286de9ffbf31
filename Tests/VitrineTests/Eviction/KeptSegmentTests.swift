import Testing

@testable import Vitrine

/// A segment of which nearly all bytes are payloads of other keys is not emptied.
@Suite struct KeptSegmentTests {
  private func isVain(isSparse: Bool = false, _ items: [CleaningPlan.Item]) -> Bool {
    let victim = CleaningPlan.Victim(byteCount: 1600, isMain: true, isSparse: isSparse, isSingle: false)
    return CleaningPlan(victim, items, by: S3FIFORules().cleaning!, usesPerByte: 1, mayStay: false).isVain
  }

  private func payload(_ byteCount: Int, head: Int = 0) -> CleaningPlan.Item {
    CleaningPlan.Item(uses: 0, byteCount: byteCount, hasKey: false, boundByteCount: head)
  }

  @Test func aPlanIsVainIfLessThanASixteenthIsFreedOrUsed() {
    #expect(!isVain([payload(1500)]))
    #expect(isVain([payload(1501)]))
    #expect(isVain([payload(1501), CleaningPlan.Item(uses: 0, byteCount: 99, hasKey: true)]))
  }

  @Test func aSparseSegmentIsSparseWithTheHeadsThatItsCopiesTake() {
    #expect(!isVain(isSparse: true, [payload(799)]))
    #expect(!isVain(isSparse: true, [payload(699, head: 100)]))
    #expect(isVain(isSparse: true, [payload(700, head: 100)]))
    #expect(isVain(isSparse: true, [payload(400), CleaningPlan.Item(uses: 3, byteCount: 400, hasKey: true)]))
  }

  @Test func headsBeforePayloadsAreNotFreed() {
    #expect(!isVain([payload(1400, head: 100)]))
    #expect(isVain([payload(1400, head: 101)]))
  }

  @Test func pinnedRecordsAreNotFreed() {
    func pinned(uses: Int) -> CleaningPlan.Item {
      CleaningPlan.Item(uses: uses, byteCount: 700, hasKey: true, isPinned: true)
    }
    #expect(isVain([payload(801), pinned(uses: 0)]))
    #expect(isVain([payload(801), pinned(uses: 1)]))
    #expect(!isVain([payload(800), pinned(uses: 1)]))
  }

  /// An unused entry is dropped there, but a drop does not free its payload.
  @Test func payloadsOfSeveralKeysAreNotFreed() {
    func shared(_ byteCount: Int) -> CleaningPlan.Item {
      CleaningPlan.Item(uses: 0, byteCount: byteCount, hasKey: true, isShared: true)
    }
    let unused = CleaningPlan.Item(uses: 0, byteCount: 90, hasKey: true)
    #expect(isVain([shared(1501), unused]))
    #expect(!isVain([shared(1500), unused]))
    #expect(isVain([payload(801), shared(700)]))
    let victim = CleaningPlan.Victim(byteCount: 1600, isMain: true, isSparse: false, isSingle: false)
    let plan = CleaningPlan(victim, [shared(1501), unused], by: S3FIFORules().cleaning!, usesPerByte: 1)
    #expect(plan.drops == [0, 1] && plan.copies.isEmpty)
  }

  @Test func aKeptSegmentIsLookedAtAgainAfterASixteenthHasDied() {
    var kept = KeptSegments()
    #expect(!kept.contains(7, liveByteCount: 1600, of: 1600))
    kept.note(7, liveByteCount: 1550)
    #expect(kept.contains(7, liveByteCount: 1550, of: 1600))
    #expect(kept.contains(7, liveByteCount: 1451, of: 1600))
    #expect(!kept.contains(7, liveByteCount: 1450, of: 1600))
    #expect(!kept.contains(8, liveByteCount: 1550, of: 1600))
  }

  @Test func manySegmentsTakeBoundedMemory() {
    var kept = KeptSegments()
    for segment in 0..<1025 { kept.note(UInt64(segment), liveByteCount: 10) }
    #expect((0..<1025).count { kept.contains(UInt64($0), liveByteCount: 10, of: 10) } == 1)
  }
}
