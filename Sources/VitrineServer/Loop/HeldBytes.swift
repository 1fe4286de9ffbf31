/// A copy of bytes at a fixed address, for system calls after the end of the caller's scope. Used by one thread.
final class HeldBytes {
  let bytes: UnsafeRawBufferPointer

  init(_ bytes: [UInt8]) {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
    memory.copyBytes(from: bytes)
    self.bytes = UnsafeRawBufferPointer(memory)
  }

  deinit { bytes.deallocate() }
}
