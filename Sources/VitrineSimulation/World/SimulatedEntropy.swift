import Vitrine

/// Bytes that look random and repeat from their seed.
package final class SimulatedEntropy: Entropy {
  private let generator: Guarded<SplitMix64>

  package init(seed: UInt64) { generator = Guarded(SplitMix64(seed: seed)) }

  package func fill(_ buffer: UnsafeMutableRawBufferPointer) throws(SystemError) {
    generator.withLock { generator in
      for position in buffer.indices { buffer[position] = UInt8(truncatingIfNeeded: generator.next() >> 32) }
    }
  }
}
