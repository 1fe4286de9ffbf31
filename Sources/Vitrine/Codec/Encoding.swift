/// The stored form of a blob's bytes. Reads always return the bytes that were put.
public enum Encoding: UInt8, Sendable {
  /// The bytes as they were put.
  case plain = 0
  /// Compressed by zstd. A get decompresses the bytes into memory of the calling thread.
  case zstd = 1
  /// Raw pixels with a ``BitmapLayout``, never compressed.
  case bitmap = 2
}
