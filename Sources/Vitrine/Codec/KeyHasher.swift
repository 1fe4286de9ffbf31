import CVitrineSystem

/// Hashes URLs and digests under a store's secret, so that no client can choose URLs that collide in the tables.
///
/// Invariant: `secret` has 192 bytes until deinit. Safe from any thread.
package final class KeyHasher: @unchecked Sendable {
  private let secret: UnsafeMutableRawPointer
  private let seed: UInt64

  package init(secret bytes: [UInt8]) {
    let count = Int(VITRINE_SECRET_BYTES)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 64)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    for (index, byte) in bytes.prefix(count).enumerated() { memory.put(byte, at: index) }
    secret = memory
    seed = UnsafeRawPointer(memory).u64(8)
  }

  deinit { secret.deallocate() }

  /// The upper 48 bits of the URL's hash, zeros below.
  @inline(__always)
  package func url(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    vitrine_hash_key(bytes.baseAddress, bytes.count, secret).low & ~0xFFFF
  }

  /// All 64 bits of the URL's hash. The index keeps a part of them.
  package func wholeURL(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    vitrine_hash_key(bytes.baseAddress, bytes.count, secret).low
  }

  @inline(__always)
  package func key(_ url: UnsafeRawBufferPointer, styleTag: UInt16) -> KeyHash {
    KeyHash(url: self.url(url), styleTag: styleTag)
  }

  package func content(_ digest: Digest) -> ContentHash {
    withUnsafeBytes(of: (digest.low.littleEndian, digest.high.littleEndian)) {
      ContentHash(bits: Checksum.of($0, seed: seed))
    }
  }
}
