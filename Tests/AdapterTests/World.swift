import Foundation
import Vitrine

/// A clock that a test moves.
final class ManualClock: Clock, Sendable {
  private let now = Guarded<Int64>(1_700_000_000_000)
  private let hook = Guarded<(@Sendable () -> Void)?>(nil)

  /// Calls `body` when the clock is read next: within a put of a store.
  func atNextReading(_ body: @escaping @Sendable () -> Void) { hook.withLock { $0 = body } }

  func wallMilliseconds() -> Int64 {
    let body = hook.withLock { hook in
      defer { hook = nil }
      return hook
    }
    body?()
    return now.withLock { $0 }
  }

  func monotonicNanoseconds() -> UInt64 { UInt64(now.withLock { $0 }) * 1_000_000 }
  func sleep(milliseconds: Int) { advance(Int64(milliseconds)) }
  func advance(_ milliseconds: Int64) { now.withLock { $0 += milliseconds } }
  var date: Date { Date(timeIntervalSince1970: Double(wallMilliseconds()) / 1000) }
}

/// Upkeep that never runs, so that a test alone decides when entries are removed.
final class NoUpkeep: BackgroundWork, BackgroundTask {
  func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) -> any BackgroundTask { self }
  func wake(afterMilliseconds delay: Int) {}
  func stop() {}
  func end() {}
}

/// A folder for stores under a clock of the test. It is deleted when the test releases it.
final class World: Sendable {
  let clock = ManualClock()
  let path = FileManager.default.temporaryDirectory.appending(path: "vitrine-adapter-\(UUID().uuidString)").path

  func open(_ options: StoreOptions = StoreOptions(byteBudget: 4 << 20)) throws -> CacheStore {
    var environment = Environment.posix
    environment.clock = clock
    environment.background = NoUpkeep()
    return try CacheStore.open(at: path, options: options, environment: environment)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// Work that a test runs on its own thread.
final class ManualExecutor: Sendable {
  private let work = Guarded<[@Sendable () -> Void]>([])

  /// Adds work. Does not reference the executor, because work that never runs references its cache.
  var adding: @Sendable (@escaping @Sendable () -> Void) -> Void {
    { [weak self] body in self?.work.withLock { $0.append(body) } }
  }

  var count: Int { work.withLock { $0.count } }

  func run() {
    let taken = work.withLock { work in
      defer { work = [] }
      return work
    }
    for body in taken { body() }
  }
}

/// Bytes that do not compress.
func noise(_ byteCount: Int, seed: UInt64 = 1) -> Data {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  var words = [UInt64](repeating: 0, count: (byteCount + 7) / 8)
  for index in words.indices {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    words[index] = state
  }
  return words.withUnsafeBytes { Data($0.prefix(byteCount)) }
}
