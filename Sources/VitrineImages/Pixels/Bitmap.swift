import Foundation
import Vitrine

/// Pixels that can be shown: a store's own memory, or memory of this value's own. No copy is made of either.
///
/// Colours are sRGB. Where the format has alpha, they are premultiplied by it. Safe from any number of threads; valid as
/// long as it is referenced.
public struct Bitmap: Sendable {
  /// Width, height, row length and format of the pixels.
  public let layout: BitmapLayout
  private let storage: Storage

  private enum Storage: Sendable {
    case blob(Blob)
    case memory(PixelMemory)
    case array([UInt8])
  }

  /// The pixels of a stored bitmap. Nil for a Blob that is none, or has fewer bytes than its layout needs.
  public init?(_ blob: Blob) {
    guard blob.encoding == .bitmap, let layout = blob.layout, blob.byteCount >= layout.byteCount else { return nil }
    self.layout = layout
    storage = .blob(blob)
  }

  /// New pixels, zeroed and then drawn by `body`. Throws `outOfMemory`, and what `body` throws.
  public init(layout: BitmapLayout, _ body: (inout MutableRawSpan) throws -> Void) throws {
    let memory = try PixelMemory(byteCount: layout.byteCount)
    var span = memory.bytes.mutableBytes
    try body(&span)
    self.layout = layout
    storage = .memory(memory)
  }

  /// Pixels in an array, which has `layout.byteCount` bytes.
  init(layout: BitmapLayout, _ pixels: [UInt8]) {
    precondition(pixels.count == layout.byteCount)
    self.layout = layout
    storage = .array(pixels)
  }

  /// The pixels as an array: the one that they lie in, else a copy.
  var array: [UInt8] {
    if case .array(let pixels) = storage { return pixels }
    return withPixels { pixels in pixels.withUnsafeBytes { Array($0.prefix(layout.byteCount)) } }
  }

  /// Pixels in a row.
  public var width: Int { layout.width }
  /// Rows of pixels.
  public var height: Int { layout.height }
  /// Width and height in pixels.
  public var size: PixelSize { PixelSize(width: width, height: height) }

  /// Whether the pixels are a store's memory, so that they cost this process none of its own.
  public var isMapped: Bool {
    if case .blob(let blob) = storage { !blob.isCopy } else { false }
  }

  /// Lends the pixels: `layout.height` rows, each `layout.bytesPerRow` bytes behind the one before.
  public func withPixels<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    switch storage {
    case .blob(let blob): return try blob.withBytes(body)
    case .memory(let memory):
      defer { withExtendedLifetime(memory) {} }
      return try body(UnsafeRawBufferPointer(memory.bytes).bytes)
    case .array(let pixels): return try body(pixels.span.bytes)
    }
  }
}

/// Memory for pixels, at a multiple of 64 bytes. Written to by its maker alone, before anybody else sees it.
final class PixelMemory: @unchecked Sendable {
  let bytes: UnsafeMutableRawBufferPointer
  private let release: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  /// Zeroed. Throws `outOfMemory`.
  init(byteCount: Int) throws(ImageError) {
    var memory: UnsafeMutableRawPointer?
    guard byteCount >= 0, posix_memalign(&memory, 64, max(byteCount, 64)) == 0, let memory else {
      throw .outOfMemory(byteCount: byteCount)
    }
    memset(memory, 0, byteCount)
    bytes = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
    release = { free($0.baseAddress) }
  }

  /// Memory that is there already, and how to give it back.
  init(_ bytes: UnsafeMutableRawBufferPointer, release: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
    self.bytes = bytes
    self.release = release
  }

  deinit { release(bytes) }
}
