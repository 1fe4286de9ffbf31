#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Threads for work that never waits for anything but a processor.
enum Threads {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Calls `body` on `count` threads, the caller's among them, and returns when all have. A thread that cannot be had is
  /// done without.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    var threads: [pthread_t] = []
    for index in 1..<max(1, count) {
      let work = Unmanaged.passRetained(Work { body(index) })
      #if os(Linux)
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, { Threads.enter($0) }, work.toOpaque())
        if result == 0 { threads.append(thread) } else { work.release() }
      #else
        var thread: pthread_t?
        let result = pthread_create(&thread, nil, { Threads.enter($0) }, work.toOpaque())
        if result == 0, let thread { threads.append(thread) } else { work.release() }
      #endif
    }
    body(0)
    for thread in threads { pthread_join(thread, nil) }
  }

  private static func enter(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body() }
    return nil
  }
}
