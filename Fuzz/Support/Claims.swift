#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A claim of a target about an input. If it is false, the text is written to stderr, and libFuzzer keeps the
/// input. A trap in a release build would print nothing.
@inline(__always)
package func claim(_ isTrue: Bool, _ text: @autoclosure () -> String) {
  if !isTrue { refute(text()) }
}

package func refute(_ text: String) -> Never {
  _ = "FAILED: \(text)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) }
  abort()
}

/// Runs a body that must not throw.
package func always<R>(_ what: String, _ body: () throws -> R) -> R {
  do {
    return try body()
  } catch {
    refute("\(what): \(error)")
  }
}
