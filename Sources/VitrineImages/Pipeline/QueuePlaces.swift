/// The places of a ``LimitedQueue``: their present holders, and the order of admission.
struct QueuePlaces {
  private struct Held {
    var isPreheating: Bool
    let claim: LimitedQueue.Claim
  }

  let limit: Int
  let preheatingLimit: Int
  var admitsPreheating = true
  var waiting = WaitingLines()
  private var held: [UInt64: Held] = [:]
  /// The held places: those of requests and those of preheating, counted separately.
  private var runningCount = 0
  private var preheatingCount = 0
  private var keys: Set<String> = []
  private var isOneAlone = false

  init(limit: Int, preheatingLimit: Int) {
    self.limit = max(1, limit)
    self.preheatingLimit = max(1, preheatingLimit)
  }

  var heldCount: Int { held.count }

  /// Assigns the free places to waiters, and returns their continuations.
  mutating func admit() -> [WaitingLines.Continuation] {
    var admitted: [WaitingLines.Continuation] = []
    while let number = next(), let waiter = waiting.remove(number), let continuation = waiter.continuation {
      hold(number, waiter)
      admitted.append(continuation)
    }
    return admitted
  }

  /// Changes the priority of a waiter or of a held place. If only preheating still wants a held place, it becomes a
  /// preheating place, beyond their limit if necessary, and its request place is free.
  mutating func setPriority(_ priority: PictureRequest.Priority, of number: UInt64) {
    waiting.setPriority(priority, of: number)
    guard priority == .preheating, let place = held[number], !place.isPreheating else { return }
    held[number]?.isPreheating = true
    runningCount -= 1
    preheatingCount += 1
  }

  mutating func leave(_ number: UInt64) {
    guard let place = held.removeValue(forKey: number) else { return }
    if place.isPreheating { preheatingCount -= 1 } else { runningCount -= 1 }
    switch place.claim {
    case .none: break
    case .key(let key): keys.remove(key)
    case .all: isOneAlone = false
    }
  }

  private mutating func hold(_ number: UInt64, _ waiter: WaitingLines.Waiter) {
    let isPreheating = waiter.priority == .preheating
    if isPreheating { preheatingCount += 1 } else { runningCount += 1 }
    held[number] = Held(isPreheating: isPreheating, claim: waiter.claim)
    switch waiter.claim {
    case .none: break
    case .key(let key): keys.insert(key)
    case .all: isOneAlone = true
    }
  }

  private func next() -> UInt64? {
    if isOneAlone { return nil }
    // A waiter for the whole queue blocks later ones, since it might otherwise wait forever.
    if let loner = waiting.firstLoner { return held.isEmpty ? loner : nil }
    for priority in PictureRequest.Priority.allCases.reversed() where hasPlace(priority) {
      if let first = waiting.first(priority, where: mayEnter) { return first }
    }
    return nil
  }

  private func hasPlace(_ priority: PictureRequest.Priority) -> Bool {
    priority == .preheating ? admitsPreheating && preheatingCount < preheatingLimit : runningCount < limit
  }

  private func mayEnter(_ waiter: WaitingLines.Waiter) -> Bool {
    if case .key(let key) = waiter.claim { return !keys.contains(key) }
    return true
  }
}
