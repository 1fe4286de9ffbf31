import Vitrine

// The classic commands but for retrievals.
extension MemcachedSession {
  private static let badFormat: StaticString = "CLIENT_ERROR bad command line format\r\n"

  private func isQuiet(_ words: RequestWords, at index: Int) -> Bool { words.word(index)?.isEqual("noreply") ?? false }

  // MARK: Storage

  /// `set KEY FLAGS EXPTIME BYTES [noreply]`, and with a number behind the bytes `cas`.
  func beginStorage(_ command: TextCommand, _ words: RequestWords) {
    let leastCount = command == .cas ? 6 : 5
    guard words.count == leastCount || words.count == leastCount + 1 else { return refuse("ERROR\r\n") }
    guard words[1].count <= ItemKey.longest, let flags = words[2].unsigned32, let seconds = words[3].signedNumber,
      let byteCount = words[4].signedNumber
    else { return refuse(MemcachedSession.badFormat) }
    guard byteCount >= 0, byteCount < Int64(Int32.max - 2) else { return refuse(MemcachedSession.badFormat) }
    guard let key = ItemKey.key(words[1]) else {
      refuse(MemcachedSession.badFormat)
      return skip(valueOf: Int(byteCount))
    }
    var verb = StorageRequest.Verb.set
    switch command {
    case .add: verb = .add
    case .replace: verb = .replace
    case .append: verb = .append
    case .prepend: verb = .prepend
    case .cas:
      guard let unique = words[5].unsignedNumber else { return refuse(MemcachedSession.badFormat) }
      verb = .compare(unique)
    default: break
    }
    var request = StorageRequest(verb, key, byteCount: Int(byteCount))
    request.flags = flags
    request.expiry = ExpiryTime(seconds: seconds, now: Time.milliseconds())
    expectValue(request, .text(isQuiet: isQuiet(words, at: leastCount)))
  }

  /// Waits for the value of a request, or refuses the request and skips its value.
  func expectValue(_ request: StorageRequest, _ answer: StorageAnswer) {
    let isJoined = request.verb == .append || request.verb == .prepend
    let most = isJoined ? min(items.largestValue, MemcachedSession.longestJoined) : items.largestValue
    do throws(StoreError) {
      if request.byteCount > most { throw .tooLarge(byteCount: request.byteCount, limit: most) }
      let value = try items.begin(request) ?? .bytes([])
      expect(Arrival(.storage(request, answer), value, byteCount: request.byteCount))
    } catch {
      answer.append(.failed(error), to: self)
      if request.verb == .set { items.removeOutdated(request) }
      skip(valueOf: request.byteCount)
    }
  }

  /// A piece that is appended or prepended is collected in memory.
  private static let longestJoined = 8 << 20

  // MARK: Changes

  /// `delete KEY [0] [noreply]`
  func delete(_ words: RequestWords) {
    guard words.count >= 2 else { return refuse("ERROR\r\n") }
    let hasZero = words.word(2)?.isEqual("0") ?? false
    let isQuiet = isQuiet(words, at: words.count - 1)
    guard words.count == 2 || (words.count == 3 && (hasZero || isQuiet)) || (words.count == 4 && hasZero && isQuiet)
    else {
      return isQuiet ? () : refuse("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n")
    }
    guard let key = ItemKey.key(words[1]) else { return refuse(MemcachedSession.badFormat) }
    let outcome = items.delete(key)
    counters.add(outcome == .notFound ? .deleteMisses : .deleteHits)
    if case .failed(let error) = outcome { return refuse(error, isQuiet: isQuiet) }
    if !isQuiet { output.append(outcome == .notFound ? "NOT_FOUND\r\n" : "DELETED\r\n") }
  }

  /// `incr KEY NUMBER [noreply]`
  func change(_ words: RequestWords, isIncrement: Bool) {
    guard words.count == 3 || words.count == 4 else { return refuse("ERROR\r\n") }
    guard let key = ItemKey.key(words[1]) else { return refuse(MemcachedSession.badFormat) }
    guard let delta = words[2].unsignedNumber else {
      return refuse("CLIENT_ERROR invalid numeric delta argument\r\n")
    }
    var change = Arithmetic()
    change.isIncrement = isIncrement
    change.delta = delta
    let (outcome, result) = items.apply(change, key)
    count(outcome, isIncrement: isIncrement)
    let isQuiet = isQuiet(words, at: 3)
    if case .failed(let error) = outcome { return refuse(error, isQuiet: isQuiet) }
    if outcome == .notANumber, !isQuiet {
      return refuse("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n")
    }
    if isQuiet { return }
    guard let result else { return output.append("NOT_FOUND\r\n") }
    output.append(number: result.number)
    output.append("\r\n")
  }

  /// Counts an arithmetic change.
  func count(_ outcome: StorageOutcome, isIncrement: Bool) {
    if outcome == .notFound {
      counters.add(isIncrement ? .incrementMisses : .decrementMisses)
    } else if case .stored = outcome {
      counters.add(isIncrement ? .incrementHits : .decrementHits)
    }
  }

  /// `touch KEY EXPTIME [noreply]`
  func touch(_ words: RequestWords) {
    guard words.count == 3 || words.count == 4 else { return refuse("ERROR\r\n") }
    guard let key = ItemKey.key(words[1]) else { return refuse(MemcachedSession.badFormat) }
    guard let seconds = words[2].signedNumber else { return refuse("CLIENT_ERROR invalid exptime argument\r\n") }
    let outcome = items.touch(key, ExpiryTime(seconds: seconds, now: Time.milliseconds()))
    counters.add(outcome == .notFound ? .touchMisses : .touchHits)
    let isQuiet = isQuiet(words, at: 3)
    if case .failed(let error) = outcome { return refuse(error, isQuiet: isQuiet) }
    if !isQuiet { output.append(outcome == .notFound ? "NOT_FOUND\r\n" : "TOUCHED\r\n") }
  }

  // MARK: The server

  /// `flush_all [DELAY] [noreply]`
  func flushAll(_ words: RequestWords) {
    guard words.count <= 3 else { return refuse("ERROR\r\n") }
    let isQuiet = isQuiet(words, at: words.count - 1)
    var expiry = ExpiryTime.past
    if let delay = words.word(1), !delay.isEqual("noreply") {
      guard let seconds = delay.signedNumber else { return refuse("CLIENT_ERROR invalid exptime argument\r\n") }
      if seconds > 0 { expiry = ExpiryTime(seconds: seconds, now: Time.milliseconds()) }
    }
    guard server.allowsFlush else { return refuse("CLIENT_ERROR flush_all not allowed\r\n") }
    counters.add(.flushes)
    items.flush(at: expiry.milliseconds ?? .min)
    items.flushIfDue()
    if !isQuiet { output.append("OK\r\n") }
  }

  /// `stats [GROUP]`
  func stats(_ words: RequestWords) {
    let group = words.word(1).map { String(decoding: $0, as: UTF8.self) }
    if group == "reset" {
      server.resetStatistics()
      return output.append("RESET\r\n")
    }
    // These list keys or counters of memcached's memory, which a store does not have.
    if ["cachedump", "detail"].contains(group) { return output.append("END\r\n") }
    guard let statistics = server.statistics(of: group) else { return refuse("ERROR\r\n") }
    for (name, value) in statistics { output.append("STAT \(name) \(value)\r\n") }
    output.append("END\r\n")
  }

  /// `verbosity NUMBER [noreply]` is accepted and has no effect.
  func verbosity(_ words: RequestWords) {
    guard words.count >= 2 else { return refuse("ERROR\r\n") }
    guard words[1].unsignedNumber != nil else { return refuse(MemcachedSession.badFormat) }
    if !isQuiet(words, at: words.count - 1) { output.append("OK\r\n") }
  }
}
