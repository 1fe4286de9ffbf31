/// A range of memory that shows a file.
///
/// Invariants: `start` is valid for `byteCount` bytes until the mapping is released, which happens when the last
/// reference goes; what the release closure captures stays alive until then. Only the engine's record views read
/// through `start`, and they check every range against `byteCount` first.
package final class Mapping: @unchecked Sendable {
  package let start: UnsafeMutableRawPointer
  package let byteCount: Int
  private let release: @Sendable () -> Void

  package init(start: UnsafeMutableRawPointer, byteCount: Int, release: @escaping @Sendable () -> Void) {
    self.start = start
    self.byteCount = byteCount
    self.release = release
  }

  deinit { release() }
}
