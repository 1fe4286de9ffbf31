import Testing
import Vitrine
import VitrineSimulation

@testable import CacheCtlTool

/// The bytes of replayed objects, and their comparison.
@Suite struct TracePayloadTests {
  private let payload = TracePayload(seed: 9)
  private static let sizes = [1, 2, 7, 8, 9, 63, 64, 4095, 4096, 4097, 12_345]

  private func bytes(_ object: UInt64, _ byteCount: Int, _ payload: TracePayload? = nil) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    bytes.withUnsafeMutableBytes { (payload ?? self.payload).fill($0, object: object) }
    return bytes
  }

  @Test(arguments: sizes)
  func madeBytesMatchTheirObject(_ byteCount: Int) {
    for object in [0, 1, .max] as [UInt64] {
      #expect(payload.mismatch(bytes(object, byteCount).span.bytes, object: object) == nil)
    }
  }

  @Test(arguments: sizes)
  func everyChangedByteIsFoundAtItsOffset(_ byteCount: Int) {
    var bytes = bytes(5, byteCount)
    for offset in Set(stride(from: 0, to: byteCount, by: 61)).union([byteCount - 1, max(0, byteCount - 5)]) {
      bytes[offset] ^= 0x10
      #expect(payload.mismatch(bytes.span.bytes, object: 5) == offset)
      bytes[offset] ^= 0x10
    }
    #expect(payload.mismatch(bytes.span.bytes, object: 5) == nil)
  }

  @Test func firstOfSeveralDifferencesIsReported() {
    var bytes = bytes(5, 20_000)
    for offset in [19_999, 8_200, 4_096] { bytes[offset] ^= 1 }
    #expect(payload.mismatch(bytes.span.bytes, object: 5) == 4_096)
  }

  @Test func otherObjectSizeOrSeedHasOtherBytes() {
    let own = bytes(5, 1000)
    #expect(payload.mismatch(own.span.bytes, object: 6) != nil)
    #expect(TracePayload(seed: 10).mismatch(own.span.bytes, object: 5) != nil)
    #expect(payload.mismatch(Array(bytes(5, 1001).prefix(1000)).span.bytes, object: 5) != nil)
    var words: Set<[UInt8]> = []
    for object in 0..<500 as Range<UInt64> { words.insert(Array(bytes(object, 64))) }
    #expect(words.count == 500)
  }

  /// All bytes occur about equally often, so the payload leaves nothing to compress.
  @Test func payloadIsEvenlyDistributed() {
    var counts = [Int](repeating: 0, count: 256)
    for byte in bytes(1, 1 << 18) { counts[Int(byte)] += 1 }
    #expect(counts.allSatisfy { (800...1250).contains($0) })
  }

  @Test func bufferHoldsThePayloadOfEachRequest() {
    let buffer = PayloadBuffer()
    for byteCount in [10, 5000, 3, 5000] {
      let request = TraceRequest(object: 4, byteCount: byteCount)
      let made = buffer.with(payload, request) { span in span.withUnsafeBytes { Array($0) } }
      #expect(made == bytes(4, byteCount))
    }
  }

  @Test(arguments: [0, 7, 10, 1_234_567_890, .max] as [UInt64])
  func keyIsTheObjectInDecimal(_ object: UInt64) {
    var key = TraceKey()
    key.set(.max)
    key.set(object)
    #expect(key.url == Array("\(object)".utf8))
  }
}
