/// The services that a store uses from the system. One value, so that a simulation can replace them all, and a run
/// under it repeats from its seed.
package struct Environment: Sendable {
  package var fileSystem: any FileSystem
  package var clock: any Clock
  package var entropy: any Entropy
  package var background: any BackgroundWork
  package var resources: Resources
  /// Replaces the 128-bit hash of blobs; only tests set it, to plant a collision.
  package var hash: (@Sendable (UnsafeRawBufferPointer) -> (high: UInt64, low: UInt64))?

  package init(
    fileSystem: any FileSystem, clock: any Clock, entropy: any Entropy, background: any BackgroundWork,
    resources: Resources = Resources()
  ) {
    self.fileSystem = fileSystem
    self.clock = clock
    self.entropy = entropy
    self.background = background
    self.resources = resources
  }

  /// The real services of this process.
  package static let posix = Environment(
    fileSystem: POSIXFileSystem(), clock: POSIXClock(), entropy: POSIXEntropy(), background: POSIXBackgroundWork(),
    resources: Resources(files: .ofProcess()))
}

/// Limits on scarce resources of the process.
package struct Resources: Sendable {
  /// Shared by all stores of an environment.
  package let files: FileCache
  /// The most segments of one store that are mapped at a time. Linux allows a process 65,530 mappings.
  package var mappedSegments: Int

  package init(files: FileCache = FileCache(), mappedSegments: Int = 16_384) {
    self.files = files
    self.mappedSegments = mappedSegments
  }
}

/// Clocks of the environment. Both may be coarse (a few milliseconds): they are read on the hot path.
package protocol Clock: AnyObject, Sendable {
  /// Milliseconds since 1970; may step in either direction.
  func wallMilliseconds() -> Int64
  /// Nanoseconds since some moment; never steps back.
  func monotonicNanoseconds() -> UInt64
  func sleep(milliseconds: Int)
  /// Waits until `monitor` is signaled, for at most this time; may return earlier. The monitor's lock is held
  /// before and after.
  func wait(on monitor: Monitor, milliseconds: Int)
  /// As ``sleep(milliseconds:)``, for a task. Throws if it is canceled.
  func suspend(milliseconds: Int) async throws
  /// Whether threads run concurrently under this clock. If not, a run must be repeatable, also when its threads take
  /// turns in another order.
  var isShared: Bool { get }
}

extension Clock {
  package var isShared: Bool { false }

  /// Lets the time pass in short steps, between which other threads may signal. For a clock that moves only on request.
  package func wait(on monitor: Monitor, milliseconds: Int) {
    monitor.unlock()
    sleep(milliseconds: min(milliseconds, 2))
    monitor.lock()
  }

  package func suspend(milliseconds: Int) async throws {
    try await Task.sleep(nanoseconds: UInt64(milliseconds) * 1_000_000)
  }
}

package protocol Entropy: AnyObject, Sendable {
  func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError)
}

/// Runs a store's upkeep off its callers' threads.
package protocol BackgroundWork: AnyObject, Sendable {
  /// Calls `step` at the time `first`, then at the time that its last call has returned, and soon after each
  /// ``BackgroundTask/wake()``. Calls never overlap. No call begins once ``BackgroundTask/stop()`` has returned.
  func start(
    name: String, first: NextStep, step: @escaping @Sendable () -> NextStep
  ) throws(SystemError) -> any BackgroundTask
}

/// When a background task is called again, unless it is woken before.
package enum NextStep: Sendable, Equatable {
  case after(milliseconds: Int)
  case whenWoken
}

package protocol BackgroundTask: AnyObject, Sendable {
  /// Makes the next call due after `delay` milliseconds, unless it is due earlier.
  func wake(afterMilliseconds delay: Int)
  /// Waits for a running step (unless called from it) and ends the task.
  func stop()
  /// Ends the task without waiting: a running step finishes, and no other begins.
  func end()
}

extension BackgroundTask {
  package func wake() { wake(afterMilliseconds: 0) }
}

extension Entropy {
  package func bytes(_ count: Int) throws(SystemError) -> [UInt8] {
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      do throws(SystemError) {
        try fill(UnsafeMutableRawBufferPointer(buffer))
        initialized = count
      } catch {
        failure = error
        initialized = 0
      }
    }
    if let failure { throw failure }
    return bytes
  }

  package func integer() throws(SystemError) -> UInt64 {
    try bytes(8).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
  }
}
