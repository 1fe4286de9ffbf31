import CVitrineSystem

/// Pages of mapped files that the system could not deliver (SIGBUS), and the guard that puts zeros in their place.
enum BusErrors {
  /// Whether the guard has replaced any page of this process. One load.
  @inline(__always) static var haveHappened: Bool { vitrine_bus_errors_happened() }

  /// Installs the guard, once for the process.
  static func installGuard() throws(SystemError) {
    let result = vitrine_install_bus_guard()
    if result != 0 { throw SystemError(code: result, operation: "handle", path: "SIGBUS") }
  }
}

/// Copies bytes to or from mapped memory, of which a page may be missing. Returns 0, or the errno of the fault.
@inline(__always)
func copyMapped(_ target: UnsafeMutableRawPointer, _ source: UnsafeRawPointer, _ count: Int) -> Int32 {
  vitrine_copy_mapped(target, source, count)
}
