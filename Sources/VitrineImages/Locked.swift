import Foundation

/// A value with the lock that guards it. `Mutex` would do, but Thread Sanitizer reports false races for it.
///
/// Invariant: `value` is touched only with the lock held.
package final class Locked<Value>: @unchecked Sendable {
  private var value: Value
  private let lock = NSLock()

  package init(_ value: sending Value) { self.value = value }

  package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
