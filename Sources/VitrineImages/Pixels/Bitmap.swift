import Foundation
import Vitrine

/// Pixels that can be shown, mapped from a store or in memory. Neither is copied.
///
/// Colors are sRGB, premultiplied by alpha if the format has alpha. Thread-safe. The pixels are valid while the value
/// is referenced.
public struct Bitmap: Sendable {
  /// The width, height, bytes per row and format of the pixels.
  public let layout: BitmapLayout
  private let storage: Storage

  private enum Storage: Sendable {
    case blob(Blob)
    /// A part of a blob that begins at an offset.
    case part(Blob, Int)
    case memory(PixelMemory)
    case array([UInt8])
  }

  /// Creates a bitmap from a stored one, without a copy. Returns nil if `blob` is not a bitmap, or has fewer bytes
  /// than its layout needs.
  public init?(_ blob: Blob) {
    guard blob.encoding == .bitmap, let layout = blob.layout, blob.byteCount >= layout.byteCount else { return nil }
    self.layout = layout
    storage = .blob(blob)
  }

  /// Creates a bitmap of a part of a stored value, without a copy. The value must have the bytes of the layout.
  init(_ blob: Blob, _ layout: BitmapLayout, at offset: Int) {
    precondition(offset >= 0 && layout.byteCount <= blob.byteCount - offset)
    self.layout = layout
    storage = .part(blob, offset)
  }

  /// Creates a bitmap of zeroed memory that `body` draws into. Throws `outOfMemory`, and errors of `body`.
  public init(layout: BitmapLayout, _ body: (inout MutableRawSpan) throws -> Void) throws {
    let memory = try PixelMemory(byteCount: layout.byteCount)
    var span = memory.bytes.mutableBytes
    try body(&span)
    self.layout = layout
    storage = .memory(memory)
  }

  /// Creates a bitmap of an array, which must have `layout.byteCount` bytes.
  init(layout: BitmapLayout, _ pixels: [UInt8]) {
    precondition(pixels.count == layout.byteCount)
    self.layout = layout
    storage = .array(pixels)
  }

  /// The pixels as an array. Copies them unless they are in an array.
  var array: [UInt8] {
    if case .array(let pixels) = storage { return pixels }
    return withPixels { pixels in pixels.withUnsafeBytes { Array($0.prefix(layout.byteCount)) } }
  }

  /// The number of pixels in a row.
  public var width: Int { layout.width }
  /// The number of rows.
  public var height: Int { layout.height }
  /// The width and height in pixels.
  public var size: PixelSize { PixelSize(width: width, height: height) }

  /// Whether the pixels are mapped from a store, so that they need no memory of this process.
  public var isMapped: Bool {
    switch storage {
    case .blob(let blob), .part(let blob, _): !blob.isCopy
    case .memory, .array: false
    }
  }

  /// Calls `body` with the pixels: `layout.height` rows, `layout.bytesPerRow` bytes apart. The span is valid only
  /// during the call. Rethrows errors of `body`.
  public func withPixels<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    switch storage {
    case .blob(let blob): return try blob.withBytes(body)
    case .part(let blob, let offset):
      return try blob.withBytes { bytes throws(E) in
        try body(bytes.extracting(offset..<offset + layout.byteCount))
      }
    case .memory(let memory):
      defer { withExtendedLifetime(memory) {} }
      return try body(UnsafeRawBufferPointer(memory.bytes).bytes)
    case .array(let pixels): return try body(pixels.span.bytes)
    }
  }
}

/// Memory for pixels. Memory allocated here is 64-byte aligned. Invariant: only the creator writes it, before other
/// threads can access it.
final class PixelMemory: @unchecked Sendable {
  let bytes: UnsafeMutableRawBufferPointer
  private let release: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  /// Allocates zeroed memory. Throws `outOfMemory`.
  init(byteCount: Int) throws(ImageError) {
    var memory: UnsafeMutableRawPointer?
    guard byteCount >= 0, posix_memalign(&memory, 64, max(byteCount, 64)) == 0, let memory else {
      throw .outOfMemory(byteCount: byteCount)
    }
    memset(memory, 0, byteCount)
    bytes = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
    release = { free($0.baseAddress) }
  }

  /// Takes ownership of existing memory. `release` frees it.
  init(_ bytes: UnsafeMutableRawBufferPointer, release: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
    self.bytes = bytes
    self.release = release
  }

  deinit { release(bytes) }
}
