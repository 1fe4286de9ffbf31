#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// What a target says of an input must hold: else the text goes to stderr, and libFuzzer keeps the input. A trap in a
/// release build would say nothing.
@inline(__always)
package func claim(_ isTrue: Bool, _ text: @autoclosure () -> String) {
  if !isTrue { refute(text()) }
}

package func refute(_ text: String) -> Never {
  _ = "FAILED: \(text)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) }
  abort()
}

/// Runs what may throw nothing here.
package func always<R>(_ what: String, _ body: () throws -> R) -> R {
  do {
    return try body()
  } catch {
    refute("\(what): \(error)")
  }
}
