import Foundation

/// A value next to the lock that guards it. (`Mutex` would do; Thread Sanitizer reports false races on it.)
package final class Locked<Value>: @unchecked Sendable {
  // Invariant: touched only with the lock held.
  private var value: Value
  private let lock = NSLock()

  package init(_ value: sending Value) { self.value = value }

  package func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
