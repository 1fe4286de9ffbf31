/// Copies of the keys that pending operations point at. They live as long as the arena.
final class KeyArena {
  private var blocks: [UnsafeMutableRawBufferPointer] = []
  deinit { for block in blocks { block.deallocate() } }

  func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
    block.copyBytes(from: bytes)
    blocks.append(block)
    return UnsafeRawBufferPointer(rebasing: block[..<bytes.count])
  }
}
