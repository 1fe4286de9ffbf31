/// Who waits for a place of a ``LimitedQueue``: by priority, and among equals by when they came.
///
/// Coming, and leaving as the first of a line, are O(1). Leaving from the middle and changes of priority are O(log n), and
/// move eight bytes for each who stands behind.
struct WaitingLines {
  typealias Priority = ImageRequest.Priority
  typealias Continuation = CheckedContinuation<Void, any Error>

  struct Waiter {
    var priority: Priority
    let claim: LimitedQueue.Claim
    /// Nil for one that is announced and does not wait yet.
    var continuation: Continuation?
  }

  /// By numbers that grow as they come.
  private var waiters: [UInt64: Waiter] = [:]
  /// The numbers, ascending: a line for each priority, and one for who wants to be alone.
  private var lines = [ArraySlice<UInt64>](repeating: [], count: Priority.allCases.count + 1)
  private static let lineOfLoners = Priority.allCases.count

  var count: Int { waiters.count }
  /// Of those that wait in earnest. O(``count``).
  var continuationCount: Int { waiters.values.count { $0.continuation != nil } }

  subscript(number: UInt64) -> Waiter? { waiters[number] }

  /// `number` is higher than all before.
  mutating func append(_ number: UInt64, _ priority: Priority, _ claim: LimitedQueue.Claim) {
    let waiter = Waiter(priority: priority, claim: claim)
    waiters[number] = waiter
    lines[WaitingLines.line(of: waiter)].append(number)
  }

  /// Whether it was announced.
  mutating func wait(_ number: UInt64, _ continuation: Continuation) -> Bool {
    guard waiters[number] != nil else { return false }
    waiters[number]?.continuation = continuation
    return true
  }

  mutating func setPriority(_ priority: Priority, of number: UInt64) {
    guard var waiter = waiters[number], waiter.priority != priority else { return }
    leaveLine(number, waiter)
    waiter.priority = priority
    waiters[number] = waiter
    let line = WaitingLines.line(of: waiter)
    lines[line].insert(number, at: place(number, line))
  }

  @discardableResult
  mutating func remove(_ number: UInt64) -> Waiter? {
    guard let waiter = waiters.removeValue(forKey: number) else { return nil }
    leaveLine(number, waiter)
    return waiter
  }

  /// The first with this priority that waits and may have a place.
  func first(_ priority: Priority, where mayEnter: (Waiter) -> Bool) -> UInt64? {
    lines[priority.rawValue].first { number in
      waiters[number].map { $0.continuation != nil && mayEnter($0) } ?? false
    }
  }

  /// The first that wants to be alone.
  var firstLoner: UInt64? {
    lines[WaitingLines.lineOfLoners].first { waiters[$0]?.continuation != nil }
  }

  private static func line(of waiter: Waiter) -> Int {
    waiter.claim == .all ? lineOfLoners : waiter.priority.rawValue
  }

  private mutating func leaveLine(_ number: UInt64, _ waiter: Waiter) {
    let line = WaitingLines.line(of: waiter)
    if lines[line].first == number {
      lines[line].removeFirst()
    } else {
      lines[line].remove(at: place(number, line))
    }
  }

  /// Where a number stands in a line, or would.
  private func place(_ number: UInt64, _ line: Int) -> Int {
    var (low, high) = (lines[line].startIndex, lines[line].endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if lines[line][middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
