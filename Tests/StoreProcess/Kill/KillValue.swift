import Glibc
import Vitrine

/// The value of an entry: the numbers of the changes that set its payload, its metadata and its expiry. All its
/// bytes follow from them.
struct KillValue: Hashable {
  var payload: Int
  var metadata: Int
  /// 0 for none.
  var expiry: Int

  /// The value of a put.
  init(_ number: Int) { (payload, metadata, expiry) = (number, number, number % 5 == 0 ? number : 0) }

  /// Reads the value from the entry's metadata and expiry. Nil if they are not from this program.
  init?(_ entry: EntryInfo) {
    let numbers = entry.metadata.split(separator: UInt8(ascii: ".")).map { Int(String(decoding: $0, as: UTF8.self)) }
    guard numbers.count == 2, let payload = numbers[0], let metadata = numbers[1] else { return nil }
    let expiry = entry.expirationMilliseconds.map { $0 - KillValue.farAway } ?? 0
    (self.payload, self.metadata, self.expiry) = (payload, metadata, Int(expiry))
  }

  private static let farAway: Int64 = 4_000_000_000_000

  var metadataBytes: [UInt8] { Array("\(payload).\(metadata)".utf8) }
  var expirationMilliseconds: Int64? { expiry == 0 ? nil : KillValue.farAway + Int64(expiry) }

  // MARK: The payload

  /// The lowest four bits of a change's number determine the kind of its value.
  static let kinds = 16
  static let bitmapKind = 15
  private static let poolKind = 14

  /// A few values are put under many keys, and repeatedly under the same one.
  static func isShared(_ number: Int) -> Bool { number % kinds == poolKind || number % kinds == poolKind - 1 }

  static func layout(_ number: Int) -> BitmapLayout? {
    guard number % kinds == bitmapKind else { return nil }
    let height = 4 + (number / kinds &* 7919) % 120
    return BitmapLayout(width: 64, height: height, format: number % 3 == 0 ? .rgb565 : .rgba8888)
  }

  static func bytes(_ key: Int, _ number: Int) -> [UInt8] {
    var words = Numbers(UInt64(truncatingIfNeeded: number &* 1_000_003 &+ key))
    if KillKeys.isLarge(key) {
      // Above 1 MiB it has checksums of its pieces.
      let count = number % 9 == 0 ? 1_050_000 + words.next(200_000) : 270_000 + words.next(300_000)
      return StressValue.make(key, number, count)
    }
    if let layout = layout(number) {
      return Array(StressValue.make(key, number, layout.byteCount).prefix(layout.byteCount))
    }
    if isShared(number) {
      let member = words.next(8)
      return StressValue.make(-1 - member, 1, [100, 900, 3000, 3001, 9000, 20_000, 40_000, 70_000][member])
    }
    switch number % kinds {
    case 0: return number % 7 == 0 ? [] : StressValue.make(key, number, words.next(60))
    case ..<6: return StressValue.make(key, number, 40 + words.next(900))
    case ..<10: return StressValue.make(key, number, 900 + words.next(6000))
    case ..<12: return StressValue.make(key, number, 7000 + words.next(33_000))
    default: return StressValue.make(key, number, 40_000 + words.next(80_000))
    }
  }

  /// The value of a key: nil for none, and a violation if it is no value of this key.
  static func found(_ store: CacheStore, _ key: Int) -> Result<KillValue?, KillViolation> {
    var made: [Int: MadeValue] = [:]
    return found(store, key, &made)
  }

  /// Finds the value of a key in many inspections of the same keys: `made` caches their expected values, which are slow
  /// to make.
  static func found(
    _ store: CacheStore, _ key: Int, _ made: inout [Int: MadeValue]
  ) -> Result<KillValue?, KillViolation> {
    let name = KillKeys.all[key]
    let entry: EntryInfo
    switch store.lookup(name) {
    case .found(let found): entry = found
    case .missing: return .success(nil)
    case let other: return .failure(KillViolation("\(name.urlText) is \(other)"))
    }
    guard let value = KillValue(entry) else { return .failure(KillViolation("\(name.urlText) has foreign metadata")) }
    let expected: MadeValue
    if let known = made[key], known.number == value.payload {
      expected = known
    } else {
      expected = MadeValue(number: value.payload, bytes: KillValue.bytes(key, value.payload))
      made[key] = expected
    }
    // It may have been evicted meanwhile.
    guard let isSame = store.get(name, { $0.withUnsafeBytes(expected.isSame) }) else { return .success(nil) }
    if !isSame || entry.layout != layout(value.payload) && !KillKeys.isLarge(key) {
      return .failure(KillViolation("\(name.urlText) has \(entry.byteCount) bytes that are not those of \(value)"))
    }
    return .success(value)
  }
}

extension KillValue: CustomStringConvertible {
  var description: String { "\(payload).\(metadata).\(expiry)" }

  init?(_ text: some StringProtocol) {
    let numbers = text.split(separator: ".").compactMap { Int($0) }
    guard numbers.count == 3 else { return nil }
    (payload, metadata, expiry) = (numbers[0], numbers[1], numbers[2])
  }
}

/// The payload that a change puts.
struct MadeValue {
  let number: Int
  let bytes: [UInt8]

  func isSame(_ other: UnsafeRawBufferPointer) -> Bool {
    bytes.withUnsafeBytes { own in
      own.count == other.count && (own.isEmpty || memcmp(own.baseAddress!, other.baseAddress!, own.count) == 0)
    }
  }
}

/// A broken promise.
struct KillViolation: Error {
  let text: String
  init(_ text: String) { self.text = text }
}

/// A few numbers that follow from one.
private struct Numbers {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next(_ limit: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int((state >> 20) % UInt64(limit))
  }
}
