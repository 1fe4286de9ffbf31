import CVitrineSystem

/// XXH3-64 under a seed: the checksum of every header, frame and block. The seed states kind and place of the
/// bytes, so a block from another place fails its check.
package enum Checksum {
  @inline(__always)
  package static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    vitrine_checksum(bytes.baseAddress, bytes.count, seed)
  }

  @inline(__always)
  package static func of(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, seed: UInt64
  ) -> UInt64 {
    vitrine_checksum2(first.baseAddress, first.count, second.baseAddress, second.count, seed)
  }

  /// A seed from several numbers, each of which matters in its place (the finalizer of SplitMix64).
  package static func seed(_ parts: UInt64...) -> UInt64 {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    for part in parts {
      state = (state ^ part) &+ 0x9E37_79B9_7F4A_7C15
      state = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      state = (state ^ (state >> 27)) &* 0x94D0_49BB_1331_11EB
      state ^= state >> 31
    }
    return state
  }
}
