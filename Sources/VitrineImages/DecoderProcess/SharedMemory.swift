import CDecoderProcess

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Memory that two processes can see, by a descriptor: gone when nobody has that, nor has it mapped. Of a fixed size where
/// the system can see to that.
package final class SharedMemory: Sendable {
  package let descriptor: Int32

  /// Takes the descriptor over.
  package init(descriptor: Int32) { self.descriptor = descriptor }

  /// Zeros. Throws `outOfMemory`, also where it is descriptors that are lacking.
  package init(byteCount: Int) throws(ImageError) {
    var descriptor: Int32 = -1
    guard byteCount >= 0, vitrine_memory_make(byteCount, &descriptor) == 0 else {
      throw .outOfMemory(byteCount: byteCount)
    }
    self.descriptor = descriptor
  }

  /// A copy.
  package convenience init(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
    try self.init(byteCount: bytes.count)
    guard vitrine_memory_fill(descriptor, bytes.baseAddress, bytes.count) == 0 else {
      throw .outOfMemory(byteCount: bytes.count)
    }
  }

  deinit { close(descriptor) }

  /// Lends it; `isShared`: what is written is seen by the other process. Nil where it is smaller than that, or there is no
  /// room for it.
  package func withBytes<R>(
    _ byteCount: Int, isShared: Bool, _ body: (UnsafeMutableRawBufferPointer) throws(ImageError) -> R
  ) throws(ImageError) -> R? {
    guard byteCount > 0, vitrine_memory_has(descriptor, byteCount),
      let bytes = vitrine_memory_map(descriptor, byteCount, isShared)
    else { return nil }
    defer { vitrine_memory_unmap(bytes, byteCount) }
    return try body(UnsafeMutableRawBufferPointer(start: bytes, count: byteCount))
  }

  /// What is in it from now on for ever: frozen and mapped, or a copy where the system cannot freeze. Nil where the other
  /// process still has it mapped and could change it. Throws `outOfMemory`.
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
