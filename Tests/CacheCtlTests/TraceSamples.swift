import CZlib
import CZstd
import CacheCtlBase
import Foundation
import Testing
import VitrineSimulation

@testable import CacheCtlTool

/// Traces as files, in every format.
enum TraceSamples {
  static func text(_ requests: [TraceRequest]) -> Data {
    Data(requests.map { "\($0.object) \($0.byteCount)\n" }.joined().utf8)
  }

  /// Records of oracleGeneral, with times and next accesses that are no part of a request.
  static func oracle(_ requests: [TraceRequest]) -> Data {
    var data = Data()
    func add<Value: FixedWidthInteger>(_ value: Value) {
      withUnsafeBytes(of: value.littleEndian) { data.append(contentsOf: $0) }
    }
    for (index, request) in requests.enumerated() {
      add(UInt32(index) &+ 1_700_000_000)
      add(request.object)
      add(UInt32(request.byteCount))
      add(index % 3 == 0 ? Int64(-1) : Int64(index + 7))
    }
    return data
  }

  static func gzip(_ data: Data) throws -> Data {
    var stream = z_stream()
    let size = CInt(MemoryLayout<z_stream>.size)
    try #require(deflateInit2_(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK)
    defer { deflateEnd(&stream) }
    var input = [UInt8](data)
    var packed = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(input.count))))
    let code = input.withUnsafeMutableBufferPointer { input in
      packed.withUnsafeMutableBufferPointer { packed in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = packed.baseAddress
        stream.avail_out = UInt32(packed.count)
        return deflate(&stream, Z_FINISH)
      }
    }
    try #require(code == Z_STREAM_END)
    return Data(packed.prefix(Int(stream.total_out)))
  }

  static func zstd(_ data: Data) throws -> Data {
    let input = [UInt8](data)
    var packed = [UInt8](repeating: 0, count: ZSTD_compressBound(input.count))
    let count = ZSTD_compress(&packed, packed.count, input, input.count, 3)
    try #require(ZSTD_isError(count) == 0)
    return Data(packed.prefix(count))
  }

  /// Requests of `count` objects of different sizes, the lower ones more often.
  static func skewed(_ requestCount: Int, objects count: Int, seed: UInt64, largest: Int = 5000) -> [TraceRequest] {
    var generator = SplitMix64(seed: seed)
    return (0..<requestCount).map { _ in
      let object = min(generator.next(below: count), generator.next(below: count), generator.next(below: count))
      return TraceRequest(object: UInt64(object), byteCount: 1 + object * 7919 % largest)
    }
  }
}

/// A folder for the files of one test, removed afterwards.
final class TraceFolder {
  let url = FileManager.default.temporaryDirectory.appending(path: "cachectl-traces-\(UUID())")

  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: url) }

  func trace(_ data: Data, format: TraceFormat? = nil) throws -> Trace {
    let file = url.appending(path: "trace-\(UUID())")
    try data.write(to: file)
    return Trace(path: Array(file.path.utf8), format: format)
  }

  /// Reads a trace up to its end, or up to an error, whose message is returned too.
  func read(_ data: Data, format: TraceFormat? = nil) throws -> (requests: [TraceRequest], failure: String?) {
    var requests: [TraceRequest] = []
    do {
      let reader = try trace(data, format: format).reader()
      while let request = try reader.next() { requests.append(request) }
    } catch let failure as Failure {
      #expect(failure.status == .couldNotRun)
      // Without the name of the file.
      return (requests, failure.message.replacing(/^.*trace-[0-9A-F-]+(, |: )/, with: ""))
    }
    return (requests, nil)
  }
}
