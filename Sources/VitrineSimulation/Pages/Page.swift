import Synchronization
import Vitrine

/// 4 KiB of a file, shared by all images that have it.
///
/// Invariant: the bytes change only while exactly one ``FileContent`` refers to the page, so a thread that shares
/// it may read it without a lock. Crash images differ from each other in a few pages; sharing the others makes
/// thousands of images a second affordable.
final class Page: @unchecked Sendable {
  static let byteCount = 4096
  /// An allocated block never written to. The constant's own reference keeps it from being changed in place.
  static let zero = Page()

  let bytes: UnsafeMutableRawPointer
  /// 0 until it is computed. Racing threads compute the same value.
  private let knownFingerprint = Atomic<UInt64>(0)

  init() {
    bytes = .allocate(byteCount: Page.byteCount, alignment: 64)
    zeroMemory(bytes, Page.byteCount)
  }

  init(copying page: Page) {
    bytes = .allocate(byteCount: Page.byteCount, alignment: 64)
    bytes.copyMemory(from: page.bytes, byteCount: Page.byteCount)
  }

  deinit { bytes.deallocate() }

  /// Must be called after a change of the bytes.
  func bytesChanged() { knownFingerprint.store(0, ordering: .relaxed) }

  /// A hash of the bytes, never 0.
  var fingerprint: UInt64 {
    let known = knownFingerprint.load(ordering: .relaxed)
    if known != 0 { return known }
    let computed = Checksum.of(UnsafeRawBufferPointer(start: bytes, count: Page.byteCount), seed: 0) | 1
    knownFingerprint.store(computed, ordering: .relaxed)
    return computed
  }
}
