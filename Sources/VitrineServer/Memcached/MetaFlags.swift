import Vitrine

/// The key and the flags of a meta command. A flag is a letter, which a token may follow.
struct MetaFlags {
  /// The letters of all flags.
  private static let known = Set("bcfhklqstuvCDFIJMNOPRTL".utf8)
  private static let longestOpaque = 32

  /// The key as the request has it.
  let name: MetaKey
  /// The letters of the flags in the order of the request, which is also that of the answer.
  private(set) var letters: [UInt8] = []
  private(set) var opaque: [UInt8] = []
  private(set) var clientFlags: UInt32 = 0
  private(set) var unique: UInt64?
  private(set) var expiry: ExpiryTime?
  private(set) var vivified: ExpiryTime?
  /// The client is to renew an item that expires before this time, in milliseconds since 1970.
  private(set) var renewal: Int64?
  private(set) var mode: UInt8?
  private(set) var delta: UInt64 = 1
  private(set) var initial: UInt64 = 0

  var key: CacheKey { name.key }
  var isQuiet: Bool { has("q") }
  var invalidates: Bool { has("I") }

  struct Refusal: Error {
    let text: StaticString
  }

  /// Reads the words from `first` on; the key is the word with index 1.
  init(_ words: RequestWords, first: Int, now: Int64) throws(Refusal) {
    guard words.count >= 2, words[1].count <= ItemKey.longest else {
      throw Refusal(text: "CLIENT_ERROR bad command line format\r\n")
    }
    let isEncoded = stride(from: first, to: words.count, by: 1).contains { words[$0].isEqual("b") }
    name = try MetaKey(words[1], isEncoded: isEncoded)
    guard words.count < RequestWords.most else {
      throw Refusal(text: "CLIENT_ERROR options flags are too long\r\n")
    }
    for index in stride(from: first, to: words.count, by: 1) {
      try take(words[index], now)
    }
  }

  private mutating func take(_ word: UnsafeRawBufferPointer, _ now: Int64) throws(Refusal) {
    let letter = word[0]
    guard MetaFlags.known.contains(letter) else { throw Refusal(text: "CLIENT_ERROR invalid flag\r\n") }
    guard !letters.contains(letter) else { throw Refusal(text: "CLIENT_ERROR duplicate flag\r\n") }
    letters.append(letter)
    let token = UnsafeRawBufferPointer(rebasing: word.dropFirst())
    switch letter {
    case UInt8(ascii: "F"): clientFlags = try MetaFlags.required(token.unsigned32)
    case UInt8(ascii: "C"): unique = try MetaFlags.required(token.unsignedNumber)
    case UInt8(ascii: "T"): expiry = try MetaFlags.moment(token, now)
    case UInt8(ascii: "N"): vivified = try MetaFlags.moment(token, now)
    case UInt8(ascii: "R"): renewal = now + max(0, min(try MetaFlags.required(token.signedNumber), 1 << 40)) * 1000
    case UInt8(ascii: "D"):
      guard let number = token.unsignedNumber else {
        throw Refusal(text: "CLIENT_ERROR invalid numeric delta value\r\n")
      }
      delta = number
    case UInt8(ascii: "J"):
      guard let number = token.unsignedNumber else {
        throw Refusal(text: "CLIENT_ERROR invalid numeric initial value\r\n")
      }
      initial = number
    case UInt8(ascii: "M"):
      guard token.count == 1 else { throw Refusal(text: "CLIENT_ERROR incorrect length for M token\r\n") }
      mode = token[0]
    case UInt8(ascii: "O"):
      guard token.count < MetaFlags.longestOpaque else {
        throw Refusal(text: "CLIENT_ERROR opaque token too long\r\n")
      }
      opaque = Array(word)
    default: break
    }
  }

  private static func required<Number>(_ number: Number?) throws(Refusal) -> Number {
    guard let number else { throw Refusal(text: "CLIENT_ERROR bad token in command line format\r\n") }
    return number
  }

  private static func moment(_ token: UnsafeRawBufferPointer, _ now: Int64) throws(Refusal) -> ExpiryTime {
    ExpiryTime(seconds: try required(token.signedNumber), now: now)
  }

  func has(_ letter: Unicode.Scalar) -> Bool { letters.contains(UInt8(ascii: letter)) }

  /// Whether the request has both flags, `first` before `second`.
  func asksFirst(_ first: Unicode.Scalar, before second: Unicode.Scalar) -> Bool {
    guard let a = letters.firstIndex(of: UInt8(ascii: first)), let b = letters.firstIndex(of: UInt8(ascii: second))
    else { return false }
    return a < b
  }

  // MARK: Answers

  /// Queues the flags that every answer repeats, and the line end. Calls `value` for the other flags.
  func appendLineEnd(_ output: ResponseQueue, _ value: (UInt8) -> Void = { _ in }) {
    for letter in letters {
      switch letter {
      case UInt8(ascii: "O"):
        output.append(byte: Byte.blank)
        opaque.withUnsafeBytes { output.append($0) }
      case UInt8(ascii: "k"): name.append(to: output)
      default: value(letter)
      }
    }
    output.append("\r\n")
  }

  /// Queues the answer to a change.
  func append(_ outcome: StorageOutcome, to session: MemcachedSession) {
    let output = session.output
    var unique: UInt64 = 0
    switch outcome {
    case .stored(let number):
      if isQuiet { return }
      unique = number
      output.append("HD")
    case .notStored, .notANumber, .failed: output.append("NS")
    case .exists: output.append("EX")
    case .notFound: output.append("NF")
    }
    appendLineEnd(output) { letter in
      guard letter == UInt8(ascii: "c") else { return }
      output.append(" c")
      output.append(number: unique)
    }
  }
}
