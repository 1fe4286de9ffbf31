#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A copy of some bytes in separate memory.
///
/// Invariant: `start` is valid for `byteCount` bytes, which never change, until deinit.
package final class OwnedBytes: @unchecked Sendable {
  package let start: UnsafeRawPointer
  package let byteCount: Int

  /// `alignment` is a power of two of at least 8. Nil if the system has no memory left.
  package init?(copying bytes: UnsafeRawBufferPointer, alignment: Int) {
    var memory: UnsafeMutableRawPointer?
    guard posix_memalign(&memory, alignment, max(bytes.count, 1)) == 0, let memory else { return nil }
    if let source = bytes.baseAddress { memory.copyMemory(from: source, byteCount: bytes.count) }
    start = UnsafeRawPointer(memory)
    byteCount = bytes.count
  }

  deinit { free(UnsafeMutableRawPointer(mutating: start)) }
}
