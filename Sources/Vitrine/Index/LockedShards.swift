/// The shards of a table, each behind a lock of its own. As with ``LevelLock``, only code that has the token of a shard
/// reaches it: no other file can make a token, no code can copy one, and a borrowed one cannot be kept. By convention,
/// only the table copies shards.
///
/// A struct, so that a lookup needs one load less. The table that owns the memory calls ``free(_:)`` once.
///
/// Invariant: `cells` is initialized memory until ``free(_:)``, and a shard is touched only under its lock.
struct LockedShards<Shard>: @unchecked Sendable {
  private let cells: UnsafeMutablePointer<Cell>
  private let count: Int

  fileprivate struct Cell {
    /// First, next to the fields that each lookup reads.
    let lock = RawLock()
    var shard: Shard
    /// Keeps the lock and the first fields of the next cell off the cache lines of this one.
    let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
  }

  /// The proof that the calling thread holds the lock of a shard, and the only way to its fields.
  struct Held: ~Copyable {
    fileprivate let shard: UnsafeMutablePointer<Shard>

    var pointee: Shard {
      @inline(__always) unsafeAddress { UnsafePointer(shard) }
      @inline(__always) nonmutating unsafeMutableAddress { shard }
    }
  }

  init(_ count: Int, _ shard: (_ index: Int) -> Shard) {
    self.count = count
    cells = .allocate(capacity: count)
    for index in 0..<count { (cells + index).initialize(to: Cell(shard: shard(index))) }
  }

  /// Releases the memory, after `body` has released that of each shard. No other thread may use the table.
  func free(_ body: (borrowing Held) -> Void) {
    for index in 0..<count {
      // The lock shows the order to tools that do not see reference counts.
      withLock(index, body)
      cells[index].lock.destroy()
    }
    cells.deinitialize(count: count)
    cells.deallocate()
  }

  /// Runs `body` with the lock of a shard held.
  @inline(__always)
  func withLock<R>(_ index: Int, _ body: (borrowing Held) -> R) -> R {
    let cell = cells + index
    cell.pointee.lock.lock()
    defer { cell.pointee.lock.unlock() }
    return withUnsafeMutablePointer(to: &cell.pointee.shard) { body(Held(shard: $0)) }
  }

  /// Takes and releases each lock. Afterwards, all earlier actions of other threads under these locks are visible, such
  /// as pins.
  func passLocks() {
    for index in 0..<count { withLock(index) { _ in } }
  }
}
