import Foundation

/// A value with the lock that guards it. `Mutex` would do, but Thread Sanitizer reports false races for it.
package final class Locked<Value>: @unchecked Sendable {
  // Invariant: accessed only with the lock held.
  private var value: Value
  private let lock = NSLock()

  package init(_ value: sending Value) { self.value = value }

  package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
