/// One request of a trace.
struct TraceRequest: Equatable {
  let object: UInt64
  let byteCount: Int
}

/// The form of a trace's requests, after decompression.
enum TraceFormat: String, CaseIterable {
  /// Lines `object size`.
  case text
  /// Records of libCacheSim's oracleGeneral.
  case oracle

  /// The form of a trace that begins with these bytes. Text has no control characters beside tabs and line ends.
  /// Records have some: the high bytes of sizes and object ids are mostly zero.
  init(beginning bytes: some Sequence<UInt8>) {
    let isText = bytes.allSatisfy { $0 >= 0x20 || (0x09...0x0D).contains($0) }
    self = isText ? .text : .oracle
  }
}

/// Reads requests from the bytes of a trace.
protocol TraceParser {
  /// The name of the unit that ``number`` counts.
  static var unit: String { get }
  /// The number of the line or record read last, from 1.
  var number: Int { get }
  /// Returns nil at the end of the trace. Throws `TraceDamage`, or an error of the input.
  mutating func next(_ input: TraceInput) throws -> TraceRequest?
}

/// The reason why a trace cannot be read on, without its place.
struct TraceDamage: Error {
  let reason: String
}
