#if os(Linux)
  /// Undoes the content codings of a body (RFC 9110, 8.4) while it arrives: gzip, deflate and brotli, in layers.
  /// Ignores unknown codings, as browsers do: names such as `utf-8` or `aws-chunked` are mistakes of servers.
  ///
  /// The memory is a buffer for each layer, and for brotli a window of up to 16 MiB. It does not grow with the decoded
  /// body. The bytes between two layers are also limited, since no receiver sees them. For one thread at a time.
  final class ContentDecoder {
    typealias Output = (UnsafeRawBufferPointer) throws -> Void

    /// One layer.
    protocol Layer: AnyObject {
      /// Decodes bytes and passes the result on in pieces. Throws ``LoadError`` for bytes that violate the coding, and
      /// errors of `output`.
      func decode(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws
      /// Whether the encoded data has reached its end.
      var hasEnded: Bool { get }
    }

    static let pieceByteCount = 64 << 10
    /// The largest number of layers of a body.
    private static let mostLayers = 2
    /// The largest number of bytes that the first of two layers may produce.
    private let mostInnerByteCount: Int

    /// The layers in the order of decoding.
    private let layers: [any Layer]
    private var hasBegun = false
    private var innerByteCount = 0

    /// Reads a `Content-Encoding` header. Throws ``LoadError`` for more than two known codings.
    init(_ header: String, mostInnerByteCount: Int = 256 << 20) throws {
      self.mostInnerByteCount = mostInnerByteCount
      var layers: [any Layer] = []
      for name in header.lowercased().split(whereSeparator: { ", \t".contains($0) }).reversed() {
        switch name {
        case "gzip", "x-gzip": layers.append(try Inflater(.gzip))
        case "deflate": layers.append(try Inflater(.deflate))
        case "br": layers.append(try BrotliDecoder())
        default: break
        }
        if layers.count > ContentDecoder.mostLayers { throw LoadError.interrupted("the body is encoded too often") }
      }
      self.layers = layers
    }

    /// Whether a `Transfer-Encoding` names no coding that changes bytes.
    static func isPlainTransfer(_ header: String) -> Bool {
      header.lowercased().split(whereSeparator: { ", \t".contains($0) }).allSatisfy {
        ["chunked", "identity"].contains($0)
      }
    }

    func decode(_ bytes: UnsafeRawBufferPointer, _ output: Output) throws {
      if !bytes.isEmpty { hasBegun = true }
      try decode(bytes, layers[...], output)
    }

    /// Checks that the body is complete. Throws ``LoadError`` if it is not. An empty body is complete.
    func finish() throws {
      if hasBegun, layers.contains(where: { !$0.hasEnded }) {
        throw LoadError.interrupted("the encoded body ends too early")
      }
    }

    private func decode(
      _ bytes: UnsafeRawBufferPointer, _ layers: ArraySlice<any Layer>, _ output: Output
    ) throws {
      guard let first = layers.first else { return try output(bytes) }
      try first.decode(bytes) { decoded in
        if layers.count > 1 {
          innerByteCount += decoded.count
          if innerByteCount > mostInnerByteCount {
            throw LoadError.interrupted("the encoded body unpacks to too many bytes")
          }
        }
        try decode(decoded, layers.dropFirst(), output)
      }
    }
  }
#endif
