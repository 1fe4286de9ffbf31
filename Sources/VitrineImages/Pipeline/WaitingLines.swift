/// The waiters for places of a ``LimitedQueue``, by priority, and in order of arrival within one priority.
///
/// Arrival, and the departure of the first of a line, are O(1). Departure from the middle and a change of priority are
/// O(log n), and move 8 bytes for each waiter behind.
struct WaitingLines {
  typealias Priority = PictureRequest.Priority
  typealias Continuation = CheckedContinuation<Void, any Error>

  struct Waiter {
    var priority: Priority
    let claim: LimitedQueue.Claim
    /// The suspended task; nil while the waiter is announced but not suspended.
    var continuation: Continuation?
  }

  /// Waiters by number. Numbers ascend in order of arrival.
  private var waiters: [UInt64: Waiter] = [:]
  /// The waiters' numbers, ascending: a line for each priority, and one for waiters that need the whole queue.
  private var lines = [ArraySlice<UInt64>](repeating: [], count: Priority.allCases.count + 1)
  private static let lineOfLoners = Priority.allCases.count

  var count: Int { waiters.count }
  /// The number of suspended waiters. O(``count``).
  var continuationCount: Int { waiters.values.count { $0.continuation != nil } }

  subscript(number: UInt64) -> Waiter? { waiters[number] }

  /// Adds a waiter. `number` must be higher than all earlier numbers.
  mutating func append(_ number: UInt64, _ priority: Priority, _ claim: LimitedQueue.Claim) {
    let waiter = Waiter(priority: priority, claim: claim)
    waiters[number] = waiter
    lines[WaitingLines.line(of: waiter)].append(number)
  }

  /// Sets the continuation of a waiter. Returns false if the waiter is not there.
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

  /// The first suspended waiter of this priority that may enter.
  func first(_ priority: Priority, where mayEnter: (Waiter) -> Bool) -> UInt64? {
    lines[priority.rawValue].first { number in
      waiters[number].map { $0.continuation != nil && mayEnter($0) } ?? false
    }
  }

  /// The first suspended waiter that needs the whole queue.
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

  /// The position of a number in a line, or its insertion point.
  private func place(_ number: UInt64, _ line: Int) -> Int {
    var (low, high) = (lines[line].startIndex, lines[line].endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if lines[line][middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
