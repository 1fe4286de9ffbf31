/// The value of a key: it contains its key and its version, which determine its length and bytes.
enum StressValue {
  static func make(_ key: Int, _ version: Int) -> [UInt8] { make(key, version, byteCount(key, version)) }

  static func make(_ key: Int, _ version: Int, _ count: Int) -> [UInt8] {
    let name = Array("\(key)/\(version)/".utf8)
    return [UInt8](unsafeUninitializedCapacity: name.count + count + 8) { buffer, initialized in
      let bytes = UnsafeMutableRawBufferPointer(buffer)
      bytes.copyBytes(from: name)
      var words = Words(key, version)
      for offset in stride(from: name.count, to: name.count + count, by: 8) {
        bytes.storeBytes(of: words.next().littleEndian, toByteOffset: offset, as: UInt64.self)
      }
      initialized = name.count + count
    }
  }

  /// Each get decompresses such a value; all others are borrowed in place.
  static func isCompressible(_ version: Int) -> Bool { version % 3 == 0 }

  /// Small ones and pictures, a few of them large.
  private static func byteCount(_ key: Int, _ version: Int) -> Int {
    var words = Words(version, key)
    let number = Int(words.next() >> 33)
    if number % 211 == 0 { return 60_000 + number % 50_000 }
    if number % 11 == 0 { return 12_000 }
    return number % 3 == 0 ? 40 + number % 900 : 900 + number % 6000
  }

  /// The version of these bytes; nil if they are no value of this key. Makes no copy.
  static func version(of bytes: UnsafeRawBufferPointer, key: Int) -> Int? {
    guard let (found, version, start) = name(bytes), found == key,
      bytes.count - start == byteCount(key, version)
    else { return nil }
    var words = Words(key, version)
    var offset = start
    while offset + 8 <= bytes.count {
      guard bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) == words.next().littleEndian else {
        return nil
      }
      offset += 8
    }
    var last = words.next()
    while offset < bytes.count {
      guard bytes[offset] == UInt8(truncatingIfNeeded: last) else { return nil }
      last >>= 8
      offset += 1
    }
    return version
  }

  private static func name(_ bytes: UnsafeRawBufferPointer) -> (key: Int, version: Int, end: Int)? {
    var numbers = [0, 0]
    var isNegative = false
    var index = 0
    for (offset, byte) in bytes.prefix(48).enumerated() {
      switch byte {
      case UInt8(ascii: "-") where offset == 0: isNegative = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        numbers[index] = numbers[index] &* 10 &+ Int(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "/"):
        index += 1
        if index == 2 { return (isNegative ? -numbers[0] : numbers[0], numbers[1], offset + 1) }
      default: return nil
      }
    }
    return nil
  }

  /// Xorshift.
  private struct Words {
    private var state: UInt64
    private let isText: Bool

    init(_ key: Int, _ version: Int) {
      state = UInt64(truncatingIfNeeded: key &* 7919 &+ version) &* 0x9E37_79B9_7F4A_7C15 | 1
      isText = StressValue.isCompressible(version)
    }

    mutating func next() -> UInt64 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return isText ? state & 0x0303_0303_0303_0303 | 0x6060_6060_6060_6060 : state
    }
  }
}
