import CVitrineSystem

/// XXH3-128 of the bytes that a get returns: content address and checksum of a blob.
///
/// It is not cryptographic. Two blobs may have one digest; the engine compares bytes before it shares them.
public struct Digest: Sendable, Hashable {
  /// The upper 64 bits.
  public let high: UInt64
  /// The lower 64 bits.
  public let low: UInt64

  /// Makes a digest of its two halves.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The digest of some bytes. O(n): about 25 GB/s in cache where the processor has AVX2.
  public init(of bytes: UnsafeRawBufferPointer) {
    let hash = vitrine_digest(bytes.baseAddress, bytes.count)
    self.init(high: hash.high, low: hash.low)
  }

  /// Parses 32 hexadecimal digits, as ``description`` prints them. Returns nil for any other text.
  public init?(_ text: some StringProtocol) {
    guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let high = UInt64(text.prefix(16), radix: 16), let low = UInt64(text.dropFirst(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }
}

extension Digest: CustomStringConvertible {
  public var description: String { hexadecimal(high) + hexadecimal(low) }
}

extension Digest {
  private static let pieceByteCount = 256 << 10

  /// The digest of a range of a file, read in pieces through `buffer`. Returns nil if the file ends before the range
  /// does, or memory is short.
  static func reading(_ file: any File, _ range: Range<Int>, _ buffer: ByteBuffer) throws(SystemError) -> Digest? {
    let stream = DigestStream()
    var next = range.lowerBound
    while next < range.upperBound {
      let count = min(pieceByteCount, range.upperBound - next)
      try file.read(into: buffer, count: count, at: next)
      guard buffer.count == count else { return nil }
      stream.update(buffer.bytes)
      next += count
    }
    return stream.finish()
  }
}

func hexadecimal(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return String(repeating: "0", count: 16 - digits.count) + digits
}

/// The digest of bytes that come in pieces. Not thread-safe.
struct DigestStream: ~Copyable {
  private let state: OpaquePointer?

  init() { state = vitrine_digest_begin() }

  func update(_ bytes: UnsafeRawBufferPointer) {
    if let state { vitrine_digest_update(state, bytes.baseAddress, bytes.count) }
  }

  /// Returns nil if memory was too short to begin.
  consuming func finish() -> Digest? {
    let state = state
    discard self
    guard let state else { return nil }
    let hash = vitrine_digest_end(state)
    return Digest(high: hash.high, low: hash.low)
  }

  deinit {
    if let state { _ = vitrine_digest_end(state) }
  }
}

extension Environment {
  /// Replaces the digest of blobs; only tests set it, to plant a collision.
  package var digest: (@Sendable (UnsafeRawBufferPointer) -> Digest)? {
    get {
      guard let hash else { return nil }
      return { bytes in
        let (high, low) = hash(bytes)
        return Digest(high: high, low: low)
      }
    }
    set {
      hash = nil
      guard let newValue else { return }
      hash = { bytes in
        let digest = newValue(bytes)
        return (high: digest.high, low: digest.low)
      }
    }
  }
}
