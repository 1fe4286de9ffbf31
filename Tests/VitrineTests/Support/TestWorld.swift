@testable import Vitrine

/// A clock that a test moves.
final class ManualClock: Clock, @unchecked Sendable {
  private let now = Guarded<(wall: Int64, monotonic: Int64)>((1_700_000_000_000, 1_000_000))

  func wallMilliseconds() -> Int64 { now.withLock { $0.wall } }
  func monotonicNanoseconds() -> UInt64 { UInt64(now.withLock { $0.monotonic }) * 1_000_000 }
  func sleep(milliseconds: Int) { advance(Int64(milliseconds)) }
  func advance(_ milliseconds: Int64) {
    now.withLock { now in
      now.wall += milliseconds
      now.monotonic += milliseconds
    }
  }
  /// Sets the wall clock; no time passes.
  func step(_ milliseconds: Int64) { now.withLock { $0.wall += milliseconds } }
}

/// Random numbers that are the same in every run.
final class SeededEntropy: Entropy, @unchecked Sendable {
  private let random: Guarded<SeededRandom>

  init(seed: UInt64) { random = Guarded(SeededRandom(seed: seed)) }

  func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    let bytes = random.withLock { $0.bytes(buffer.count) }
    buffer.copyBytes(from: bytes)
  }
}

/// Background work that a test runs, on the caller's thread.
final class ManualBackground: BackgroundWork, @unchecked Sendable {
  private let tasks = Guarded<[Task]>([])
  /// The number of times a store has asked for a round.
  let wakeCount = Guarded(0)

  final class Task: BackgroundTask, @unchecked Sendable {
    fileprivate let step = Guarded<(@Sendable () -> NextStep)?>(nil)
    /// When the task asked to be called again.
    fileprivate let next = Guarded(NextStep.whenWoken)
    private let wakeCount: Guarded<Int>
    fileprivate init(_ wakeCount: Guarded<Int>) { self.wakeCount = wakeCount }
    fileprivate let wasWoken = Guarded(false)
    func wake(afterMilliseconds delay: Int) {
      wakeCount.withLock { $0 += 1 }
      if delay == 0 { wasWoken.withLock { $0 = true } }
      next.withLock { next in
        if case .after(let earlier) = next, earlier <= delay { return }
        next = .after(milliseconds: delay)
      }
    }
    func stop() { step.withLock { $0 = nil } }
    func end() { stop() }
  }

  func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) -> any BackgroundTask {
    let task = Task(wakeCount)
    task.next.withLock { $0 = first }
    task.step.withLock { $0 = step }
    tasks.withLock { $0.append(task) }
    return task
  }

  /// Runs one round for every open store.
  func run() {
    for task in tasks.withLock({ $0 }) {
      // As the pool does, with a second call for a wake in the first one.
      for _ in 0..<2 {
        task.wasWoken.withLock { $0 = false }
        if let next = task.step.withLock({ $0 })?() { task.next.withLock { $0 = next } }
        if !task.wasWoken.withLock({ $0 }) { break }
      }
    }
  }

  /// When the store that was opened last asked for its next round.
  var nextStep: NextStep? { tasks.withLock { $0.last }?.next.withLock { $0 } }
}

/// An environment in which nothing happens by itself: same seed, same run.
struct TestWorld {
  let clock = ManualClock()
  let background = ManualBackground()
  var environment: Environment

  init(fileSystem: any FileSystem = POSIXFileSystem(), seed: UInt64 = 1, resources: Resources = Resources()) {
    environment = Environment(
      fileSystem: fileSystem, clock: clock, entropy: SeededEntropy(seed: seed), background: background,
      resources: resources)
  }

  func open(_ path: String, _ options: StoreOptions = StoreOptions(byteBudget: 4 << 20)) throws -> CacheStore {
    try CacheStore.open(at: path, options: options, environment: environment)
  }

  func openReadOnly(
    _ path: String, _ verification: Verification = .firstRead, reads: ReadMode = .mapped
  ) throws -> CacheStore {
    try open(path, StoreOptions(verification: verification, reads: reads, isReadOnly: true))
  }
}
