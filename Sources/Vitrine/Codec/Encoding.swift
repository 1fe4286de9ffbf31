/// How a blob's bytes are kept. Reads always give the bytes that were put.
public enum Encoding: UInt8, Sendable {
  case plain = 0
  case zstd = 1
  case bitmap = 2
}
