import CDecoderProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Memory that two processes share by a descriptor. It is freed once no process has the descriptor or a mapping. Its
/// size is fixed if the system supports that.
package final class SharedMemory: Sendable {
  package let descriptor: Int32

  /// Takes ownership of the descriptor.
  package init(descriptor: Int32) { self.descriptor = descriptor }

  /// Allocates zeroed memory. Throws `outOfMemory`, also if no descriptor is free.
  package init(byteCount: Int) throws(ImageError) {
    var descriptor: Int32 = -1
    guard byteCount >= 0, vitrine_memory_make(byteCount, &descriptor) == 0 else {
      throw .outOfMemory(byteCount: byteCount)
    }
    self.descriptor = descriptor
  }

  /// Allocates memory with a copy of the bytes. Throws `outOfMemory`.
  package convenience init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    try self.init(byteCount: bytes.count)
    guard vitrine_memory_fill(descriptor, bytes.baseAddress, bytes.count) == 0 else {
      throw .outOfMemory(byteCount: bytes.count)
    }
  }

  deinit { close(descriptor) }

  /// Calls `body` with the mapped memory. If `isShared` is set, the other process sees writes. Returns nil if the
  /// memory is smaller than `byteCount`, or cannot be mapped.
  package func withBytes<R>(
    _ byteCount: Int, isShared: Bool, _ body: (UnsafeMutableRawBufferPointer) throws(ImageError) -> R
  ) throws(ImageError) -> R? {
    guard byteCount > 0, vitrine_memory_has(descriptor, byteCount),
      let bytes = vitrine_memory_map(descriptor, byteCount, isShared)
    else { return nil }
    defer { vitrine_memory_unmap(bytes, byteCount) }
    return try body(UnsafeMutableRawBufferPointer(start: bytes, count: byteCount))
  }

  /// Returns the contents in a form that cannot change: frozen and mapped, or copied if the system cannot freeze
  /// memory. Returns nil if the other process still has a writable mapping. Throws `outOfMemory`.
  func pixels(_ byteCount: Int) throws(ImageError) -> PixelMemory? {
    switch vitrine_memory_freeze(descriptor) {
    case 0:
      guard let bytes = vitrine_memory_map(descriptor, byteCount, false) else {
        throw .outOfMemory(byteCount: byteCount)
      }
      return PixelMemory(UnsafeMutableRawBufferPointer(start: bytes, count: byteCount)) {
        vitrine_memory_unmap($0.baseAddress, $0.count)
      }
    case ENOTSUP:
      let copy = try PixelMemory(byteCount: byteCount)
      let isCopied: Void? = try withBytes(byteCount, isShared: false) { bytes throws(ImageError) in
        copy.bytes.copyMemory(from: UnsafeRawBufferPointer(bytes))
      }
      return isCopied == nil ? nil : copy
    default: return nil
    }
  }
}
