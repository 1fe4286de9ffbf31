#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A level in the order of a store's locks.
protocol LockLevel {
  /// A thread takes locks in the order of their ranks, the lowest first.
  static var rank: UInt { get }
}

/// A lock and the state that it guards, which is reachable only through a token.
///
/// A function that needs the lock takes the token as a parameter, so the compiler checks each call. A token exists only
/// in ``withLock(_:)``: no other file can make one, no code can copy one, and a borrowed one cannot be kept. Debug
/// builds also check the order of the levels.
///
/// Invariant: `state` is initialized memory of this lock alone, and is touched only under the mutex.
final class LevelLock<Level: LockLevel, State: ~Copyable>: @unchecked Sendable {
  private let mutex = RawLock(spins: true)
  private let state: UnsafeMutablePointer<State>

  init(_ state: consuming State) {
    self.state = .allocate(capacity: 1)
    self.state.initialize(to: state)
  }

  deinit {
    state.deinitialize(count: 1)
    state.deallocate()
    mutex.destroy()
  }

  /// The proof that the calling thread holds the lock, and the only way to its state.
  struct Held: ~Copyable {
    fileprivate let pointer: UnsafeMutablePointer<State>

    var state: State {
      @inline(__always) unsafeAddress { UnsafePointer(pointer) }
      @inline(__always) nonmutating unsafeMutableAddress { pointer }
    }
  }

  /// Runs `body` with the lock held. Waits for other threads that hold it.
  @inline(__always)
  func withLock<R, E: Error>(_ body: (borrowing Held) throws(E) -> R) throws(E) -> R {
    LockOrder.willTake(Level.rank)
    mutex.lock()
    defer { release() }
    return try body(Held(pointer: state))
  }

  /// Runs `body` with the lock held, if that needs no waiting. Nil if another thread holds the lock.
  func tryWithLock<R, E: Error>(_ body: (borrowing Held) throws(E) -> R) throws(E) -> R? {
    guard mutex.tryLock() else { return nil }
    LockOrder.hasTaken(Level.rank)
    defer { release() }
    return try body(Held(pointer: state))
  }

  @inline(__always)
  private func release() {
    mutex.unlock()
    LockOrder.hasReleased(Level.rank)
  }
}

/// Debug builds note the ranks that a thread holds, and stop where it takes a lock out of order. Release builds do
/// nothing.
enum LockOrder {
  #if DEBUG
    /// One bit for each rank that the thread holds.
    private static let ranks: pthread_key_t = {
      var key = pthread_key_t()
      let result = pthread_key_create(&key, nil)
      precondition(result == 0, "a process has keys for thread-specific values left")
      return key
    }()

    private static var held: UInt {
      get { UInt(bitPattern: pthread_getspecific(ranks)) }
      set { pthread_setspecific(ranks, UnsafeMutableRawPointer(bitPattern: newValue)) }
    }
  #endif

  @inline(__always)
  static func willTake(_ rank: UInt) {
    #if DEBUG
      precondition(held >> rank == 0, "locks are taken in their order")
      held |= 1 << rank
    #endif
  }

  /// Notes a lock that was taken without waiting, which may come out of order.
  @inline(__always)
  static func hasTaken(_ rank: UInt) {
    #if DEBUG
      precondition(held & (1 << rank) == 0, "a thread takes a lock once")
      held |= 1 << rank
    #endif
  }

  @inline(__always)
  static func hasReleased(_ rank: UInt) {
    #if DEBUG
      held &= ~(1 << rank)
    #endif
  }
}
