import Testing

@testable import Vitrine

/// A pin alone makes a record stay when its segment is reclaimed, without any use.
@Suite struct PinnedRecordPlanTests {
  @Test(arguments: [false, true]) func aPlanDropsNoPinnedRecord(_ isMain: Bool) {
    let victim = CleaningPlan.Victim(byteCount: 1000, isMain: isMain, isSparse: false, isSingle: false)
    let items = [
      CleaningPlan.Item(uses: 0, byteCount: 100, hasKey: true),
      CleaningPlan.Item(uses: 0, byteCount: 100, hasKey: true, isPinned: true),
      CleaningPlan.Item(uses: 3, byteCount: 100, hasKey: true),
    ]
    let plan = CleaningPlan(victim, items, by: S3FIFORules().cleaning!, usesPerByte: 1, mayStay: false)
    #expect(plan.copies == [1] && plan.drops == [0, 2])
  }
}
