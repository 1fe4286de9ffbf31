@testable import Vitrine

/// Bytes that identify their value, so that a test sees at once which one it got.
func noise(_ count: Int, _ seed: UInt64 = 1) -> [UInt8] {
  var random = SeededRandom(seed: seed)
  return random.bytes(count)
}

/// Text that compresses well.
func text(_ count: Int, _ seed: Int = 1) -> [UInt8] {
  let line = Array("line of a text, number \(seed), which says the same again and again. ".utf8)
  return (0..<count).map { line[$0 % line.count] }
}

/// Bytes written as hexadecimal digits, in as many lines as they need.
func hex(_ digits: String) -> [UInt8] {
  let values = digits.utf8.filter { $0 > 0x20 }.map { UInt8(String(UnicodeScalar($0)), radix: 16)! }
  return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
}

/// The inverse, 32 bytes a line, for messages.
func hexText(_ bytes: [UInt8]) -> String {
  var lines = ""
  for (index, byte) in bytes.enumerated() {
    lines += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    if index % 32 == 31 { lines += "\n" }
  }
  return lines
}

extension Source {
  /// The default source of entries made from these bytes.
  init(of bytes: [UInt8]) { self.init(bytes.withUnsafeBytes { Digest(of: $0) }) }
}

extension CacheStore {
  /// A shorthand for the most frequent call of the tests.
  subscript(_ url: String) -> [UInt8]? { bytes(url) }
}

/// Runs `body` and returns the store's error that it threw.
func storeError(_ body: () throws -> Void) -> StoreError? {
  do {
    try body()
    return nil
  } catch {
    return error as? StoreError
  }
}
