import Vitrine

/// A request for the values of keys: `get`, `gets`, `gat` or `gats`. Its line may have any length. Keys are answered as
/// they arrive.
struct Retrieval {
  private let hasUnique: Bool
  private let expiry: ExpiryTime?
  private var isFirst = true
  /// Whether a word is not a valid key. The rest of the line is then skipped.
  private(set) var isRefused = false

  private init(hasUnique: Bool, expiry: ExpiryTime?) {
    self.hasUnique = hasUnique
    self.expiry = expiry
  }

  /// Parses the start of a line. Returns the number of bytes before the first key, or nil for another command.
  static func begin(_ input: UnsafeRawBufferPointer, now: Int64) -> (Retrieval, byteCount: Int)? {
    guard input.count > 4, input[0] == UInt8(ascii: "g") else { return nil }
    if matches(input, "get ") { return (Retrieval(hasUnique: false, expiry: nil), 4) }
    if matches(input, "gets ") { return (Retrieval(hasUnique: true, expiry: nil), 5) }
    let isWithUnique = matches(input, "gats ")
    guard isWithUnique || matches(input, "gat ") else { return nil }
    var start = isWithUnique ? 5 : 4
    while start < input.count, input[start] == Byte.blank { start += 1 }
    var end = start
    while end < input.count, input[end] > Byte.blank { end += 1 }
    guard end < input.count, let seconds = UnsafeRawBufferPointer(rebasing: input[start..<end]).signedNumber else {
      return nil
    }
    return (Retrieval(hasUnique: isWithUnique, expiry: ExpiryTime(seconds: seconds, now: now)), end)
  }

  private static func matches(_ input: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
    input.count >= name.utf8CodeUnitCount
      && UnsafeRawBufferPointer(rebasing: input[..<name.utf8CodeUnitCount]).isEqual(name)
  }

  /// Whether all words are valid keys.
  static func hasKeys(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
    var length = 0
    for byte in line.last == Byte.carriageReturn ? line.dropLast() : line {
      if byte < Byte.blank || byte == 0x7F { return false }
      length = byte == Byte.blank ? 0 : length + 1
      if length > ItemKey.longest { return false }
    }
    return true
  }

  /// Answers keys until the line ends, the input ends, or the queue is full. Returns the number of bytes taken.
  mutating func answer(_ input: UnsafeRawBufferPointer, _ session: MemcachedSession) -> (Int, isDone: Bool) {
    var taken = 0
    while !session.output.isFull {
      var start = taken
      while start < input.count, input[start] == Byte.blank { start += 1 }
      if start == input.count { return (start, false) }
      if input[start] == Byte.lineFeed { return (finish(start + 1, session), true) }
      if input[start] == Byte.carriageReturn {
        // The line end may not have arrived whole.
        if start + 1 == input.count { return (start, false) }
        if input[start + 1] == Byte.lineFeed { return (finish(start + 2, session), true) }
      }
      var end = start
      while end < input.count, input[end] > Byte.blank { end += 1 }
      let word = UnsafeRawBufferPointer(rebasing: input[start..<end])
      if end == input.count, word.count <= ItemKey.longest { return (start, false) }
      guard let key = ItemKey.key(word) else {
        session.refuse("CLIENT_ERROR bad command line format\r\n")
        isRefused = true
        return (end, true)
      }
      isFirst = false
      answer(key, word, session)
      taken = end
    }
    return (taken, false)
  }

  /// Ends the answer after the line end. Returns `end`.
  private func finish(_ end: Int, _ session: MemcachedSession) -> Int {
    if isFirst { session.refuse("ERROR\r\n") } else { session.output.append("END\r\n") }
    return end
  }

  private func answer(_ key: CacheKey, _ word: UnsafeRawBufferPointer, _ session: MemcachedSession) {
    let (counters, output) = (session.counters, session.output)
    session.items.flushIfDue()
    let found = expiry.map { session.items.item(key, touching: $0) } ?? session.items.item(key)
    // If the budget has no memory for the copy of a value, the get is a miss.
    guard let item = found, let share = session.items.share(of: item.blob) else {
      counters.add(.getMisses)
      if expiry != nil { counters.add(.touchMisses) }
      return
    }
    counters.add(.getHits)
    session.items.marks.note(key)
    if expiry != nil { counters.add(.touchHits) }
    output.append("VALUE ")
    output.append(word)
    output.append(byte: Byte.blank)
    output.append(number: UInt64(item.record.flags))
    output.append(byte: Byte.blank)
    output.append(number: item.blob.byteCount)
    if hasUnique {
      output.append(byte: Byte.blank)
      output.append(number: item.record.unique)
    }
    output.append("\r\n")
    output.append(item.blob, share)
    output.append("\r\n")
  }
}
