/// Records of libCacheSim's oracleGeneral, little-endian and packed: time (32 bits), object (64), size (32), position
/// of the object's next request (64). Only object and size are used.
struct OracleTrace: TraceParser {
  static let unit = "record"
  static let recordByteCount = 24
  private(set) var number = 0
  private var record = [UInt8](repeating: 0, count: recordByteCount)

  mutating func next(_ input: TraceInput) throws -> TraceRequest? {
    number += 1
    let count = try input.read(Self.recordByteCount, into: &record)
    if count == 0 { return nil }
    guard count == Self.recordByteCount else {
      throw TraceDamage(reason: "it is cut short: \(count) of \(Self.recordByteCount) bytes")
    }
    let (object, size) = record.withUnsafeBytes { bytes in
      (
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt64.self)),
        UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
      )
    }
    return TraceRequest(object: object, byteCount: Int(size))
  }
}
