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
    fileprivate let step = Guarded<(@Sendable () -> Void)?>(nil)
    private let wakeCount: Guarded<Int>
    fileprivate init(_ wakeCount: Guarded<Int>) { self.wakeCount = wakeCount }
    func wake() { wakeCount.withLock { $0 += 1 } }
    func stop() { step.withLock { $0 = nil } }
    func end() { stop() }
  }

  func start(
    name: String, intervalMilliseconds: Int, step: @escaping @Sendable () -> Void
  ) -> any BackgroundTask {
    let task = Task(wakeCount)
    task.step.withLock { $0 = step }
    tasks.withLock { $0.append(task) }
    return task
  }

  /// Runs one round for every open store.
  func run() {
    for task in tasks.withLock({ $0 }) { task.step.withLock { $0 }?() }
  }
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
