import Glibc
import Vitrine

/// Openings of a few changes each, of a store of its own in which most entries have expired. No expired entry is served
/// or listed, none costs a lasting entry its place, and behind each opening the folder is inside its budget.
final class ShortSessions: @unchecked Sendable {
  private static let budgets = [4 << 20, 3 << 20]
  private static let lasting = 20
  private let folder: String
  private let isOver: @Sendable () -> Bool
  private let state = Guarded((wrong: [String](), sessions: 0, puts: 0))
  private var thread: SystemThread?

  init(_ folder: String, isOver: @escaping @Sendable () -> Bool) {
    (self.folder, self.isOver) = (folder, isOver)
    thread = SystemThread { self.run() }
  }

  private func fail(_ text: String) { state.withLock { $0.wrong.append("a short session: \(text)") } }

  private func run() {
    var session = 0
    repeat {
      let budget = ShortSessions.budgets[session % 2]
      do {
        let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: budget, entryBudget: 200))
        if session == 0 {
          for key in 0..<ShortSessions.lasting { try store.put(StressValue.make(key, 1), for: "lasting/\(key)") }
        }
        try change(store, session)
        try look(store)
        try store.close()
      } catch {
        return fail("\(error)")
      }
      let usage = FolderTree.diskUsage(folder)
      if usage > budget { fail("the folder takes \(usage) bytes of \(budget)") }
      session += 1
    } while !isOver()
    state.withLock { $0.sessions = session }
  }

  /// Most of the entries have expired when they are put, so how fast this runs is of no importance.
  private func change(_ store: CacheStore, _ session: Int) throws {
    for number in 0..<40 {
      let isPast = number % 8 != 0
      let now = Environment.posix.clock.wallMilliseconds()
      let options = PutOptions(
        expirationMilliseconds: isPast ? now - 1000 : now + 1, durability: number % 16 == 1 ? .synced : .buffered)
      let name = "\(isPast ? "past" : "soon")/\(session)/\(number)"
      try store.put(StressValue.make(number, session), for: CacheKey(name), options: options)
      if isPast, store.bytes(name) != nil { fail("\(name) is served") }
    }
    state.withLock { $0.puts += 40 }
  }

  private func look(_ store: CacheStore) throws {
    for key in 0..<ShortSessions.lasting {
      let version = store.get("lasting/\(key)") { $0.withUnsafeBytes { StressValue.version(of: $0, key: key) } }
      if version != 1 { fail("lasting/\(key) is gone") }
    }
    for key in try store.keysInOrder() where key.urlText.hasPrefix("past/") { fail("\(key.urlText) is listed") }
    let statistics = store.statistics()
    if statistics.damagedCount + statistics.lostCount > 0 { fail("entries were dropped as damaged") }
  }

  /// Blocks until the last session has ended. Returns the errors of all sessions.
  func join() -> [String] {
    thread?.join()
    let (wrong, sessions, puts) = state.withLock { $0 }
    emit("short sessions: \(sessions), \(puts) entries that expire")
    return wrong
  }
}
