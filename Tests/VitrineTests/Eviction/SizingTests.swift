import Testing

@testable import Vitrine

/// Sizes that follow from the budget.
@Suite struct SizingTests {
  @Test(arguments: [1 << 20, 64 << 20, 1 << 40, Int.max / 4]) func deadBytesAreAShareOfAnyBudget(_ budget: Int) {
    let segment = Sizing.segmentByteCount(budget: budget)
    let allowance = Sizing.deadAllowance(budget: budget, own: 0, segmentByteCount: segment)
    #expect(allowance >= segment)
    #expect(allowance <= max(segment, budget / 100 * 7))
    if budget >= 64 << 20 { #expect(allowance > budget / 100 * 6) }
  }
}
