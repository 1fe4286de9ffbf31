import Vitrine

extension File {
  /// The whole file. For tests: the engine bounds every read by the file's format.
  package func readAll() throws(SystemError) -> [UInt8] { try read(0..<status().byteCount) }
}
