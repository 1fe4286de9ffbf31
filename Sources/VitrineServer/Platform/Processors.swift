#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

enum Processors {
  /// The processors on which this process may run.
  static var count: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

  static var processID: Int32 { getpid() }
}
