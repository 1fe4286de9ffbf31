import Vitrine

/// Incompressible bytes, new ones after each refill, so that no value is ever stored twice.
final class RandomPool {
  private(set) var bytes: [UInt8]
  private var state: UInt64

  init(byteCount: Int) {
    bytes = [UInt8](repeating: 0, count: (byteCount + 7) / 8 * 8)
    state = UInt64.random(in: .min ... .max) | 1
    refill()
  }

  func refill() {
    var state = state
    bytes.withUnsafeMutableBytes { buffer in
      for word in buffer.bindMemory(to: UInt64.self).indices {
        // xorshift64*
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        buffer.storeBytes(of: state &* 0x2545_F491_4F6C_DD1D, toByteOffset: word * 8, as: UInt64.self)
      }
    }
    self.state = state
  }
}

/// URLs of equal length, adjacent in memory.
struct URLTable: Sendable {
  static let byteCount = 64
  /// The URL at `index` begins at `index * URLTable.byteCount`.
  let bytes: [UInt8]
  let count: Int

  init(_ prefix: String, count: Int) {
    self.count = count
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count * URLTable.byteCount)
    for index in 0..<count {
      let number = String(index)
      let url = "https://images.example.org/\(prefix)/"
      let zeros = max(0, URLTable.byteCount - 4 - url.utf8.count - number.utf8.count)
      bytes += (url + String(repeating: "0", count: zeros) + number + ".jpg").utf8
    }
    self.bytes = bytes
  }

  func key(_ index: Int) -> CacheKey {
    CacheKey(bytes: Array(bytes[(index * URLTable.byteCount)..<((index + 1) * URLTable.byteCount)]))
  }
}
