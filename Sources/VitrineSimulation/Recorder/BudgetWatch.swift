/// The budgets of bytes that a store has had, and whether its folder has been larger than one of them.
struct BudgetWatch {
  private let disk: SimulatedDisk
  private var byteCount: Int
  /// The number of disk operations before the budget began.
  private var began = 0
  private var earlierViolation: String?

  init(_ disk: SimulatedDisk, byteCount: Int) {
    self.disk = disk
    self.byteCount = byteCount
  }

  /// Begins another budget. The disk counts its most used bytes anew.
  mutating func change(to byteCount: Int) {
    earlierViolation = violation
    (self.byteCount, began) = (byteCount, disk.operationCount)
    disk.resetMostUsedByteCount()
  }

  /// A description of a time at which the folder was larger than its budget; nil if there was none.
  var violation: String? {
    let most = disk.mostUsedByteCount
    if earlierViolation != nil || most <= byteCount { return earlierViolation }
    return "\(most) bytes were used at most after operation \(began), in a budget of \(byteCount)"
  }
}
