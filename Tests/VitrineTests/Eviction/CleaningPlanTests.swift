import Testing

@testable import Vitrine

/// The fate of a segment's records follows from their uses and sizes.
@Suite struct CleaningPlanTests {
  private let rules = S3FIFORules().cleaning!
  private let sieve = SieveRules().cleaning!

  private func victim(isMain: Bool = false, isSparse: Bool = false, isSingle: Bool = false) -> CleaningPlan.Victim {
    CleaningPlan.Victim(byteCount: 1000, isMain: isMain, isSparse: isSparse, isSingle: isSingle)
  }

  private func item(_ uses: Int, _ byteCount: Int, hasKey: Bool = true) -> CleaningPlan.Item {
    CleaningPlan.Item(uses: uses, byteCount: byteCount, hasKey: hasKey)
  }

  @Test(arguments: [(false, 700, true), (false, 699, false), (true, 500, true), (true, 499, false)])
  func aSegmentWithEnoughUsedBytesIsQueuedAgain(_ isMain: Bool, _ used: Int, _ isQueued: Bool) {
    let plan = CleaningPlan(
      victim(isMain: isMain), [item(1, used), item(0, 1000 - used)], by: rules, usesPerByte: 0.001)
    #expect(plan.isQueuedAgain == isQueued)
    #expect(plan.copies.isEmpty == isQueued && plan.drops.isEmpty == isQueued)
  }

  @Test func payloadsOfOtherKeysDoNotKeepASegment() {
    let plan = CleaningPlan(victim(), [item(0, 900, hasKey: false), item(0, 100)], by: rules, usesPerByte: 0)
    #expect(!plan.isQueuedAgain && plan.copies == [0] && plan.drops == [1])
  }

  @Test func usedRecordsAreCopiedIfTheyAreWorthTheirBytes() {
    // The average is a use for 1,000 bytes: a record of 100 bytes needs 0.14 uses, one of 2,000 bytes 2.8.
    let items = [item(0, 10), item(1, 100), item(1, 750), item(2, 2000), item(3, 2000)]
    let plan = CleaningPlan(
      CleaningPlan.Victim(byteCount: 100_000, isMain: false, isSparse: false, isSingle: false), items,
      by: rules, usesPerByte: 0.001)
    // The one with the most uses for its bytes comes first.
    #expect(plan.copies == [1, 4] && plan.drops == [0, 2, 3])
  }

  @Test func aSparseSegmentLosesNothing() {
    let plan = CleaningPlan(
      victim(isSparse: true), [item(0, 100), item(3, 100), item(0, 10)], by: rules, usesPerByte: 1)
    #expect(!plan.isQueuedAgain && plan.copies == [2, 1, 0] && plan.drops.isEmpty)
  }

  @Test func aSingleRecordIsKeptInPlaceOrDropped() {
    func plan(_ uses: Int, _ usesPerByte: Double) -> CleaningPlan {
      CleaningPlan(victim(isSingle: true), [item(uses, 1000)], by: rules, usesPerByte: usesPerByte)
    }
    #expect(plan(1, 0.001).isQueuedAgain && !plan(1, 0.002).isQueuedAgain && !plan(0, 0).isQueuedAgain)
    #expect(plan(1, 0.002).copies.isEmpty && plan(1, 0.002).drops == [0])
  }

  @Test func eachTurnCostsUses() {
    #expect((0...3).map { CleaningPlan.remainingUses($0, isMain: true, by: rules) } == [0, 0, 1, 2])
    #expect((0...3).map { CleaningPlan.remainingUses($0, isMain: false, by: rules) } == [0, 0, 0, 0])
  }

  @Test func sieveKeepsEveryUsedRecordOnce() {
    let plan = CleaningPlan(
      victim(isMain: true), [item(1, 100), item(0, 600), item(3, 300)], by: sieve, usesPerByte: 1)
    #expect(!plan.isQueuedAgain && plan.copies == [0, 2] && plan.drops == [1])
    #expect(
      CleaningPlan(victim(isMain: true), [item(1, 500), item(0, 500)], by: sieve, usesPerByte: 1).isQueuedAgain)
    #expect((0...3).map { CleaningPlan.remainingUses($0, isMain: true, by: sieve) } == [0, 0, 0, 0])
  }
}
