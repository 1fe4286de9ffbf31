import Foundation
import Vitrine

/// The words that stand for the values of an enumeration in a coded form.
struct Words<Value: Equatable & Sendable>: Sendable {
  let pairs: [(word: String, value: Value)]

  func decode(_ decoder: any Decoder) throws -> Value {
    let container = try decoder.singleValueContainer()
    let word = try container.decode(String.self)
    guard let pair = pairs.first(where: { $0.word == word }) else {
      let known = pairs.map(\.word).joined(separator: ", ")
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(word)' is none of \(known)")
    }
    return pair.value
  }

  func encode(_ value: Value, _ encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    guard let pair = pairs.first(where: { $0.value == value }) else {
      throw EncodingError.invalidValue(value, .init(codingPath: encoder.codingPath, debugDescription: "has no word"))
    }
    try container.encode(pair.word)
  }
}

private let durabilities = Words<Durability>(pairs: [("buffered", .buffered), ("synced", .synced)])
private let policies = Words<EvictionPolicy>(pairs: EvictionPolicy.allCases.map { ($0.name, $0) })
private let verifications = Words<Verification>(pairs: [
  ("firstRead", .firstRead), ("always", .always), ("never", .never),
])
private let readModes = Words<ReadMode>(pairs: [("mapped", .mapped), ("copied", .copied)])
private let locked = Words<LockedStorePolicy>(pairs: [("fail", .fail), ("openReadOnly", .openReadOnly)])
private let unusable = Words<UnusableStorePolicy>(pairs: [("fail", .fail), ("recreate", .recreate)])

/// Coded as `buffered` or `synced`.
extension Durability: Codable {
  /// Decodes the word. Throws `DecodingError` for another one.
  public init(from decoder: any Decoder) throws { self = try durabilities.decode(decoder) }
  /// Encodes the word.
  public func encode(to encoder: any Encoder) throws { try durabilities.encode(self, encoder) }
}

/// Coded as its name: `lru`, `fifo`, `s3fifo` or `sieve`.
extension EvictionPolicy: Codable {
  /// Decodes the name. Throws `DecodingError` for another word.
  public init(from decoder: any Decoder) throws { self = try policies.decode(decoder) }
  /// Encodes the name.
  public func encode(to encoder: any Encoder) throws { try policies.encode(self, encoder) }
}

/// Coded as `firstRead`, `always` or `never`.
extension Verification: Codable {
  /// Decodes the word. Throws `DecodingError` for another one.
  public init(from decoder: any Decoder) throws { self = try verifications.decode(decoder) }
  /// Encodes the word.
  public func encode(to encoder: any Encoder) throws { try verifications.encode(self, encoder) }
}

/// Coded as `mapped` or `copied`.
extension ReadMode: Codable {
  /// Decodes the word. Throws `DecodingError` for another one.
  public init(from decoder: any Decoder) throws { self = try readModes.decode(decoder) }
  /// Encodes the word.
  public func encode(to encoder: any Encoder) throws { try readModes.encode(self, encoder) }
}

/// Coded as `fail` or `openReadOnly`.
extension LockedStorePolicy: Codable {
  /// Decodes the word. Throws `DecodingError` for another one.
  public init(from decoder: any Decoder) throws { self = try locked.decode(decoder) }
  /// Encodes the word.
  public func encode(to encoder: any Encoder) throws { try locked.encode(self, encoder) }
}

/// Coded as `fail` or `recreate`.
extension UnusableStorePolicy: Codable {
  /// Decodes the word. Throws `DecodingError` for another one.
  public init(from decoder: any Decoder) throws { self = try unusable.decode(decoder) }
  /// Encodes the word.
  public func encode(to encoder: any Encoder) throws { try unusable.encode(self, encoder) }
}

/// Coded as its name.
extension Style: Codable {
  /// Decodes the name. Throws `DecodingError` unless it is a valid one.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let name = try container.decode(String.self)
    guard let style = Style(name) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "a style has 1 to 255 bytes of printable ASCII without spaces")
    }
    self = style
  }

  /// Encodes the name.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// Coded with the keys `byteCount` and `count`; at least one of them is present, and each is 1 or more.
extension StyleBudget: Codable {
  private enum Key: String, CodingKey { case byteCount, count }

  /// Decodes a budget. Throws `DecodingError` for a value out of range, and without a limit.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    self.init(
      byteCount: try values.number(.byteCount, 1...Int.max), count: try values.number(.count, 1...Int(UInt32.max)))
    if byteCount == nil && count == nil {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "the budget of a style has no limit"))
    }
  }

  /// Encodes the limits that are set.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encodeIfPresent(byteCount, forKey: .byteCount)
    try values.encodeIfPresent(count, forKey: .count)
  }
}

extension KeyedDecodingContainer {
  /// Returns the number of a key, or nil if the key is missing or null. Throws `DecodingError` out of the range.
  func number<T: FixedWidthInteger & Decodable>(_ key: Key, _ range: ClosedRange<T>) throws -> T? {
    guard let value = try decodeIfPresent(T.self, forKey: key) else { return nil }
    guard range.contains(value) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "\(value) is not in \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}
