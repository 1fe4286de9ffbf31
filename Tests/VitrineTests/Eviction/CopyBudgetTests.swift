import Testing

@testable import Vitrine

@Suite struct CopyBudgetTests {
  @Test func copiesAreLimitedByTheBytesPut() {
    var budget = CopyBudget()
    budget.fill(bytesPut: 1000, most: 1 << 20)
    #expect([100, 100].map { budget.take($0) } == [true, false])
    budget.fill(bytesPut: 2000, most: 1 << 20)
    #expect([60, 40, 1].map { budget.take($0) } == [true, true, false])
    budget.fill(bytesPut: 1 << 40, most: 500)
    #expect([500, 1].map { budget.take($0) } == [true, false])
  }

  @Test func usesForEachByteFollowRecentVictims() {
    var budget = CopyBudget()
    for _ in 0..<200 { budget.note(uses: 100, byteCount: 1000, segmentByteCount: 1000) }
    #expect(abs(budget.usesPerByte - 0.1) < 0.001)
    budget.note(uses: 0, byteCount: 0, segmentByteCount: 1000)
    #expect(abs(budget.usesPerByte - 0.1) < 0.001)
  }
}
