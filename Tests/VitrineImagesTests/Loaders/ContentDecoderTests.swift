#if os(Linux)
  import CZlib
  import Foundation
  import Testing

  @testable import VitrineImages

  /// Bytes packed by zlib.
  enum Packed {
    /// `windowBits`: 31 for gzip, 15 for zlib, -15 for raw deflate. With `isOpen`, the data does not end, and zeros
    /// that were packed in the same way may follow.
    static func bytes(_ bytes: [UInt8], windowBits: Int, isOpen: Bool = false) -> [UInt8] {
      var stream = z_stream()
      let size = CInt(MemoryLayout<z_stream>.size)
      var bytes = bytes
      var packed = [UInt8](repeating: 0, count: bytes.count + bytes.count / 100 + 1000)
      deflateInit2_(&stream, 9, Z_DEFLATED, CInt(windowBits), 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
      let count = bytes.withUnsafeMutableBufferPointer { input in
        packed.withUnsafeMutableBufferPointer { output in
          stream.next_in = input.baseAddress
          stream.avail_in = UInt32(input.count)
          stream.next_out = output.baseAddress
          stream.avail_out = UInt32(output.count)
          _ = deflate(&stream, isOpen ? Z_FULL_FLUSH : Z_FINISH)
          return output.count - Int(stream.avail_out)
        }
      }
      deflateEnd(&stream)
      return Array(packed.prefix(count))
    }
  }

  @Suite struct ContentDecoderTests {
    private let body = LoaderTests.body
    /// The text four times, packed by another program.
    private static let text = Array("vitrine vitrine vitrine vitrine".utf8)
    private static let brotli: [UInt8] = [
      0x1B, 0x1E, 0x00, 0xF8, 0x8D, 0x94, 0x6E, 0xDE, 0xB4, 0x2E, 0x4B, 0x93, 0xB3, 0x93, 0x20, 0x6E, 0x74, 0xC1, 0x4F,
      0x38, 0x20, 0x7B, 0x06,
    ]

    private func decode(_ coding: String, _ bytes: [UInt8], pieces: Int = 1000) throws -> [UInt8] {
      let decoder = try ContentDecoder(coding)
      var found: [UInt8] = []
      for start in stride(from: 0, to: bytes.count, by: pieces) {
        try bytes[start..<min(start + pieces, bytes.count)].withUnsafeBytes { piece in
          try decoder.decode(piece) {
            #expect($0.count <= max(ContentDecoder.pieceByteCount, pieces))
            found += $0
          }
        }
      }
      try decoder.finish()
      return found
    }

    @Test(arguments: [1, 1000, 1 << 20])
    func packedBytesAreUnpacked(_ pieces: Int) throws {
      let gzip = Packed.bytes(body, windowBits: 31)
      #expect(try decode("gzip", gzip, pieces: pieces) == body)
      #expect(try decode("X-GZIP", gzip + gzip, pieces: pieces) == body + body)
      #expect(try decode("gzip", gzip + [0, 1, 2], pieces: pieces) == body)
      #expect(try decode("deflate", Packed.bytes(body, windowBits: 15), pieces: pieces) == body)
      #expect(try decode("deflate", Packed.bytes(body, windowBits: -15) + [7], pieces: pieces) == body)
      let twice = Packed.bytes(Packed.bytes(body, windowBits: 15), windowBits: 31)
      #expect(try decode("deflate, gzip", twice, pieces: pieces) == body)
      #expect(try decode("br", Self.brotli + [7], pieces: pieces) == Self.text)
    }

    @Test(arguments: ["utf-8", "aws-chunked", "identity", "", ",", "none", "image/jpeg"])
    func unknownCodingLeavesTheBodyAsItIs(_ coding: String) throws {
      #expect(try decode(coding, body) == body)
      #expect(try decode("\(coding), gzip", Packed.bytes(body, windowBits: 31)) == body)
    }

    @Test(arguments: ["gzip", "deflate", "br"])
    func damagedOrTruncatedBodyIsAnError(_ coding: String) throws {
      #expect(throws: LoadError.self) { try decode(coding, [0x78, 0xFF] + body) }
      let whole =
        coding == "br"
        ? Self.brotli : Packed.bytes(body, windowBits: coding == "gzip" ? 31 : 15)
      #expect(throws: LoadError.self) { try decode(coding, Array(whole.dropLast(5))) }
      #expect(try decode(coding, []).isEmpty)
    }

    @Test func tooManyLayersAreAnError() throws {
      #expect(throws: LoadError.self) { try ContentDecoder(Array(repeating: "gzip", count: 3).joined(separator: ",")) }
      _ = try ContentDecoder(Array(repeating: "gzip", count: 2).joined(separator: ","))
    }

    /// The receiver sees none of these bytes, so it cannot limit them.
    @Test func bytesBetweenLayersHaveALimit() throws {
      // Empty blocks of deflate.
      let blocks = [[UInt8]](repeating: [0, 0, 0, 0xFF, 0xFF], count: 400_000).flatMap { $0 }
      let packed = Packed.bytes(blocks, windowBits: 31)
      #expect(packed.count < 10_000)
      let decoder = try ContentDecoder("deflate, gzip", mostInnerByteCount: 1 << 20)
      #expect(throws: LoadError.self) { try packed.withUnsafeBytes { try decoder.decode($0) { _ in } } }
      let other = try ContentDecoder("deflate, gzip", mostInnerByteCount: 4 << 20)
      try packed.withUnsafeBytes { try other.decode($0) { _ in Issue.record("bytes of empty blocks") } }
    }

    @Test func bytesBehindTheEndAreIgnoredInPiecesToo() throws {
      let bytes = Packed.bytes(body, windowBits: 31) + [0, 0x1F, 5]
      for pieces in [1, 2, 1 << 20] { #expect(try decode("gzip", bytes, pieces: pieces) == body) }
    }

    @Test func errorOfTheReceiverEndsTheUnpacking() throws {
      let bomb = Packed.bytes([UInt8](repeating: 0, count: 8 << 20), windowBits: 31)
      let decoder = try ContentDecoder("gzip")
      var count = 0
      #expect(throws: LoadError.tooLarge(limit: 1 << 20)) {
        try bomb.withUnsafeBytes { bytes in
          try decoder.decode(bytes) {
            count += $0.count
            if count > 1 << 20 { throw LoadError.tooLarge(limit: 1 << 20) }
          }
        }
      }
      #expect(count <= 1 << 20 + ContentDecoder.pieceByteCount)
    }
  }
#endif
