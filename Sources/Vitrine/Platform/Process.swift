import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

func currentProcessID() -> Int32 { getpid() }

/// Returns whether a process with this id exists.
func isRunning(_ processID: Int32) -> Bool { processID > 0 && (kill(processID, 0) == 0 || errno == EPERM) }

/// Tells a forked child from the process that made the value.
struct ForkGuard: Sendable {
  private let generation = vitrine_watch_forks()

  @inline(__always)
  var isInChild: Bool { generation != vitrine_fork_generation() }
}
