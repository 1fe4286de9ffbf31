#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

// Invariant: the handle is only given to `pthread_join`, once.
/// A system thread that runs one function.
struct LoopThread: @unchecked Sendable {
  private let handle: pthread_t

  private final class Work {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  init(_ run: @escaping @Sendable () -> Void) throws(ServerError) {
    let work = Unmanaged.passRetained(Work(run))
    #if canImport(Darwin)
      var handle: pthread_t?
      let status = pthread_create(&handle, nil, { LoopThread.run($0) }, work.toOpaque())
    #else
      var handle = pthread_t()
      let status = pthread_create(&handle, nil, { LoopThread.run($0) }, work.toOpaque())
    #endif
    guard status == 0 else {
      work.release()
      throw .noThread(String(cString: strerror(status)))
    }
    #if canImport(Darwin)
      self.handle = handle!
    #else
      self.handle = handle
    #endif
  }

  private static func run(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let work { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().run() }
    return nil
  }

  /// Waits until the function has returned.
  func join() { pthread_join(handle, nil) }
}
