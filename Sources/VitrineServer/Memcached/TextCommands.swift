import Vitrine

// The classic commands, except retrievals.
extension MemcachedSession {
  private static let badFormat: StaticString = "CLIENT_ERROR bad command line format\r\n"

  private func isQuiet(_ words: RequestWords, at index: Int) -> Bool { words.word(index)?.isEqual("noreply") ?? false }

  // MARK: Storage

  /// `set KEY FLAGS EXPTIME BYTES [noreply]` and the like. `cas` has a unique number after BYTES.
  func beginStorage(_ command: TextCommand, _ words: RequestWords) {
    let leastCount = command == .cas ? 6 : 5
    guard words.count == leastCount || words.count == leastCount + 1 else { return refuse("ERROR\r\n") }
    let isQuiet = isQuiet(words, at: leastCount)
    guard words[1].count <= ItemKey.longest, let flags = words[2].unsigned32, let seconds = words[3].signedNumber,
      let byteCount = words[4].signedNumber, byteCount >= 0, byteCount < Int64(Int32.max - 2)
    else { return refuse(MemcachedSession.badFormat, isQuiet: isQuiet) }
    guard let key = ItemKey.key(words[1]) else {
      refuse(MemcachedSession.badFormat, isQuiet: isQuiet)
      return skip(valueOf: Int(byteCount))
    }
    var verb = StorageRequest.Verb.set
    switch command {
    case .add: verb = .add
    case .replace: verb = .replace
    case .append: verb = .append
    case .prepend: verb = .prepend
    case .cas:
      guard let unique = words[5].unsignedNumber else { return refuse(MemcachedSession.badFormat, isQuiet: isQuiet) }
      verb = .compare(unique)
    default: break
    }
    var request = StorageRequest(verb, key, byteCount: Int(byteCount))
    request.flags = flags
    request.expiry = ExpiryTime(seconds: seconds, now: Time.milliseconds())
    expectValue(request, .text(isQuiet: isQuiet))
  }

  /// Waits for the value of a request, or refuses the request and skips its value.
  func expectValue(_ request: StorageRequest, _ answer: StorageAnswer) {
    do throws(StoreError) {
      expect(Arrival(.storage(request, answer), try items.begin(request), byteCount: request.byteCount))
    } catch {
      answer.append(.failed(error), to: self)
      // Otherwise a client could mistake the old value for the new one.
      if request.verb == .set { _ = items.delete(request.key) }
      skip(valueOf: request.byteCount)
    }
  }

  // MARK: Changes

  /// `delete KEY [0] [noreply]`
  func delete(_ words: RequestWords) {
    guard words.count >= 2 else { return refuse("ERROR\r\n") }
    let hasZero = words.word(2)?.isEqual("0") ?? false
    let isQuiet = isQuiet(words, at: words.count - 1)
    guard words.count == 2 || (words.count == 3 && (hasZero || isQuiet)) || (words.count == 4 && hasZero && isQuiet)
    else { return refuse("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n", isQuiet: isQuiet) }
    guard let key = ItemKey.key(words[1]) else { return refuse(MemcachedSession.badFormat, isQuiet: isQuiet) }
    let outcome = items.delete(key)
    counters.add(outcome == .notFound ? .deleteMisses : .deleteHits)
    if case .failed(let error) = outcome { return refuse(error, isQuiet: isQuiet) }
    if !isQuiet { output.append(outcome == .notFound ? "NOT_FOUND\r\n" : "DELETED\r\n") }
  }

  /// `incr KEY NUMBER [noreply]`
  func change(_ words: RequestWords, isIncrement: Bool) {
    guard words.count == 3 || words.count == 4 else { return refuse("ERROR\r\n") }
    let isQuiet = isQuiet(words, at: 3)
    guard let key = ItemKey.key(words[1]) else { return refuse(MemcachedSession.badFormat, isQuiet: isQuiet) }
    guard let delta = words[2].unsignedNumber else {
      return refuse("CLIENT_ERROR invalid numeric delta argument\r\n", isQuiet: isQuiet)
    }
    var change = Arithmetic()
    change.isIncrement = isIncrement
    change.delta = delta
    let (outcome, result) = items.apply(change, key)
    count(outcome, isIncrement: isIncrement)
    if case .failed(let error) = outcome { return refuse(error, isQuiet: isQuiet) }
    if outcome == .notANumber {
      return refuse("CLIENT_ERROR cannot increment or decrement non-numeric value\r\n", isQuiet: isQuiet)
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
    let isQuiet = isQuiet(words, at: 3)
    guard let key = ItemKey.key(words[1]) else { return refuse(MemcachedSession.badFormat, isQuiet: isQuiet) }
    guard let seconds = words[2].signedNumber else {
      return refuse("CLIENT_ERROR invalid exptime argument\r\n", isQuiet: isQuiet)
    }
    let outcome = items.touch(key, ExpiryTime(seconds: seconds, now: Time.milliseconds()))
    counters.add(outcome == .notFound ? .touchMisses : .touchHits)
    if case .failed(let error) = outcome { return refuse(error, isQuiet: isQuiet) }
    if !isQuiet { output.append(outcome == .notFound ? "NOT_FOUND\r\n" : "TOUCHED\r\n") }
  }

  // MARK: The server

  /// `flush_all [DELAY] [noreply]`
  func flushAll(_ words: RequestWords) {
    guard words.count <= 3 else { return refuse("ERROR\r\n") }
    let isQuiet = isQuiet(words, at: words.count - 1)
    var seconds: Int64 = 0
    if let delay = words.word(1), !delay.isEqual("noreply") {
      guard let number = delay.signedNumber, number <= Int64(Int32.max) else {
        return refuse("CLIENT_ERROR invalid exptime argument\r\n", isQuiet: isQuiet)
      }
      seconds = number
    }
    guard server.allowsFlush else { return refuse("CLIENT_ERROR flush_all not allowed\r\n", isQuiet: isQuiet) }
    counters.add(.flushes)
    if seconds > 0, case .at(let moment) = ExpiryTime(seconds: seconds, now: Time.milliseconds()) {
      items.flush(at: moment)
    } else if case .failed(let error) = items.flush() {
      return refuse(error, isQuiet: isQuiet)
    }
    if !isQuiet { output.append("OK\r\n") }
  }

  /// `stats [GROUP]`
  func stats(_ words: RequestWords) {
    let group = words.word(1).map { String(decoding: $0, as: UTF8.self) }
    if group == "reset" {
      server.resetStatistics()
      return output.append("RESET\r\n")
    }
    // These list keys or counters of memcached's slabs, which a store does not have.
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
