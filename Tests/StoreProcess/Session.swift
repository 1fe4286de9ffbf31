import Glibc
import Vitrine

/// Writes a line at once.
func emit(_ line: String, to descriptor: Int32 = 1) {
  let bytes = Array("\(line)\n".utf8)
  _ = write(descriptor, bytes, bytes.count)
}

final class Session {
  private var store: CacheStore?
  private var client: ClientSession?
  private var fillers: [Int32] = []

  func answer(_ words: [String]) -> String {
    do {
      return try run(words)
    } catch let error as StoreError {
      return "error \(Session.name(error))"
    } catch {
      return "error \(error)"
    }
  }

  private struct Misuse: Error {}

  private func run(_ words: [String]) throws -> String {
    guard let command = words.first else { throw Misuse() }
    let rest = Array(words.dropFirst())
    switch (command, rest.count) {
    case ("open", 1...): return try open(rest)
    case ("spare", 1): return spare(Int(rest[0]) ?? 0)
    case ("limit", 1): return limitFiles(rest[0])
    case ("user", 1):
      guard let id = UInt32(rest[0]), setgid(id) == 0, setuid(id) == 0 else { return "error \(errno)" }
      return "done"
    case ("client", 1):
      client = ClientSession(path: rest[0])
      return "done"
    default: break
    }
    if let answer = try client?.run(words) { return answer }
    guard let store else { throw Misuse() }
    switch (command, rest.count) {
    case ("put", 2...3):
      let options = PutOptions(durability: rest.count == 3 ? .synced : nil)
      try store.put(Array(rest[1].utf8), for: rest[0], options: options)
    case ("puts", 3):
      for index in 0..<(Int(rest[1]) ?? 0) { try store.put(bytes(rest[0], index, rest[2]), for: "\(rest[0])/\(index)") }
    case ("get", 1):
      return store.bytes(rest[0]).map { String(decoding: $0, as: UTF8.self) } ?? "none"
    case ("version", 1):
      let parts = store.bytes(rest[0])?.split(separator: UInt8(ascii: "/"), maxSplits: 2) ?? []
      return parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : "none"
    case ("has", 3):
      for index in 0..<(Int(rest[1]) ?? 0) where store.bytes("\(rest[0])/\(index)") != bytes(rest[0], index, rest[2]) {
        return "not \(index)"
      }
    case ("left", 3): return left(rest[0], Int(rest[1]) ?? 0, rest[2], in: store)
    case ("remove", 1...2):
      return try store.remove(rest[0], durability: rest.count == 2 ? .synced : nil) ? "done" : "none"
    case ("clear", 0): try store.removeAll()
    case ("evicted", 0): return "\(store.statistics().evictedCount)"
    case ("upkeep", 0): try store.idle()
    case ("flush", 0): try store.flush()
    case ("checkpoint", 0): try store.checkpoint()
    case ("refresh", 0): return try store.refresh() ? "new" : "same"
    case ("verify", 0):
      let report = try store.verify()
      return report.isOK && report.lost.isEmpty ? "done" : "wrong \(report.damaged) \(report.lost)"
    case ("close", 0): try store.close()
    case ("fork", 0): return fork(store)
    case ("write", 2): return try Stress(store, seconds: Double(rest[0]) ?? 0, keyCount: Int(rest[1]) ?? 0).write()
    case ("follow", 3):
      return try Stress(store, seconds: Double(rest[0]) ?? 0, keyCount: Int(rest[1]) ?? 0)
        .follow(pauseMilliseconds: Int(rest[2]) ?? 0)
    default: throw Misuse()
    }
    return "done"
  }

  private func open(_ words: [String]) throws -> String {
    store = nil
    var options = StoreOptions(byteBudget: 4 << 20)
    for case let word in words where word.hasPrefix("budget=") { options.byteBudget = Int(word.dropFirst(7)) }
    if words.contains("readonly") { options = StoreOptions(isReadOnly: true) }
    if words.contains("copied") { options.reads = .copied }
    for case let word in words where word.hasPrefix("wait=") {
      options.waitForLockMilliseconds = Int(word.dropFirst(5)) ?? 0
    }
    store = try CacheStore.open(at: words[0], options: options)
    return "done"
  }

  private func bytes(_ name: String, _ index: Int, _ count: String) -> [UInt8] {
    StressValue.make(name.utf8.reduce(index) { $0 &* 31 &+ Int($1) }, index, Int(count) ?? 0)
  }

  /// The number of the entries of `puts` that exist; those must be intact.
  private func left(_ name: String, _ count: Int, _ byteCount: String, in store: CacheStore) -> String {
    var found = 0
    for index in 0..<count {
      guard let value = store.bytes("\(name)/\(index)") else { continue }
      if value != bytes(name, index, byteCount) { return "wrong \(index)" }
      found += 1
    }
    return "\(found)"
  }

  /// No file may become longer; a signal that would end the process keeps its default.
  private func limitFiles(_ byteCount: String) -> String {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    limit.rlim_cur = UInt(byteCount) ?? limit.rlim_max
    guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return "error \(errno)" }
    return "done"
  }

  /// The child tries every change and then waits to be killed.
  ///
  /// While the parent forks, one of its threads may hold a lock of Swift's runtime, which the child must not need.
  /// So every call is tried once before, on a closed store. If a child hangs nevertheless, it is killed, and another
  /// one is forked.
  private func fork(_ store: CacheStore) -> String {
    let rehearsal = store.path + "-rehearsal"
    if let closed = try? CacheStore.open(at: rehearsal, options: StoreOptions(byteBudget: 1 << 20)) {
      try? closed.close()
      _ = tryChanges(closed)
    }
    for _ in 0..<3 {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0 else { return "error \(errno)" }
      let child = Glibc.fork()
      if child == 0 {
        emit("child \(getpid()) \(tryChanges(store))")
        emit("", to: ends[1])
        while true { pause() }
      }
      var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      let hasAnswered = poll(&end, 1, 60_000) == 1
      for end in ends { Glibc.close(end) }
      if hasAnswered { return "forked \(child)" }
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
    }
    return "error hung"
  }

  /// The result of each change, and of closing.
  private func tryChanges(_ store: CacheStore) -> String {
    var batch = WriteBatch()
    batch.put([1], for: CacheKey("child"))
    let changes: [() throws -> Void] = [
      { try store.put([1], for: "child") }, { try store.put([1], for: "child", options: .init(durability: .synced)) },
      { _ = try store.remove("before") }, { try store.removeAll() }, { try store.write(batch) },
      { _ = try store.setMetadata([1], for: CacheKey("before")) }, { try store.flush() }, { try store.checkpoint() },
    ]
    var answers: [String] = []
    for change in changes {
      do {
        try change()
        answers.append("done")
      } catch {
        answers.append((error as? StoreError).map(Session.name) ?? "\(error)")
      }
    }
    let closing = (try? store.close()) == nil ? "unclosed" : "closed"
    return "\(answers.joined(separator: ",")) \(closing)"
  }

  /// Leaves room for this many more descriptors.
  private func spare(_ count: Int) -> String {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = 256
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return "error \(errno)" }
    while case let filler = Glibc.open("/dev/null", O_RDONLY), filler >= 0 { fillers.append(filler) }
    for _ in 0..<min(count, fillers.count) { Glibc.close(fillers.removeLast()) }
    return "done"
  }

  private static func name(_ error: StoreError) -> String {
    switch error {
    case .locked(let id): "locked \(id)"
    case .system(let error): "system \(error.code)"
    case .noSpace: "noSpace"
    case .writeFailed(let error): "writeFailed \(error.code)"
    case .closed: "closed"
    case .readOnly: "readOnly"
    case .storeRemoved: "storeRemoved"
    default: "\(error)".split(separator: "\n").joined(separator: " ")
    }
  }
}
