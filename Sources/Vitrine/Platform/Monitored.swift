/// A value next to a lock that can be waited on. As with ``LevelLock``, only code that has the token reaches the value.
///
/// Invariant: `memory` is initialized memory of this object alone until deinit, and is touched only with the monitor
/// locked.
final class Monitored<Value>: @unchecked Sendable {
  private let monitor = Monitor()
  private let memory: UnsafeMutablePointer<Value>

  init(_ value: Value) {
    memory = .allocate(capacity: 1)
    memory.initialize(to: value)
  }

  deinit {
    memory.deinitialize(count: 1)
    memory.deallocate()
  }

  /// The proof that the calling thread holds the lock, and the only way to the value.
  struct Held: ~Copyable {
    // A counted reference here makes the optimizer of Swift 6.3 end with "Cannot initialize a nonCopyable type".
    fileprivate let owner: Unmanaged<Monitor>
    fileprivate let memory: UnsafeMutablePointer<Value>

    private var monitor: Monitor { owner.takeUnretainedValue() }

    var value: Value {
      @inline(__always) unsafeAddress { UnsafePointer(memory) }
      @inline(__always) nonmutating unsafeMutableAddress { memory }
    }

    /// Waits for a signal, and may return without one. Other threads may change the value meanwhile.
    mutating func wait() { monitor.wait() }
    mutating func wait(milliseconds: Int) { monitor.wait(milliseconds: milliseconds) }
    /// Waits by a clock that tests may replace.
    mutating func wait(by clock: any Clock, milliseconds: Int) { clock.wait(on: monitor, milliseconds: milliseconds) }
    func signal() { monitor.signal() }
    func signalAll() { monitor.signalAll() }

    /// Runs `body` with the lock released, and takes it again. The compiler rejects a `body` that uses this token,
    /// because the call changes it.
    mutating func unlocked<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
      monitor.unlock()
      defer { monitor.lock() }
      return try body()
    }
  }

  func withLock<R, E: Error>(_ body: (inout Held) throws(E) -> R) throws(E) -> R {
    monitor.lock()
    defer { monitor.unlock() }
    var held = Held(owner: .passUnretained(monitor), memory: memory)
    // Two tokens can be exchanged, which no code may do.
    defer { precondition(held.memory == memory, "the token of another lock") }
    return try body(&held)
  }
}
