import Vitrine

/// The memcached protocol on one connection, without a socket: takes the bytes of requests, and queues answers.
///
/// Used by one thread.
final class MemcachedSession: Session {
  let items: ItemStore
  let counters: Counters
  let server: any ServerReports
  private var login: ClientLogin
  private var state = State.line
  /// Whether the connection is to end: after `quit`, an overlong line, a request of HTTP, or too many wrong
  /// credentials.
  private(set) var isEnding = false
  let output: ResponseQueue
  private var progress = RequestProgress()
  private var timer = RequestTimer()
  private(set) var hasYielded = false

  private enum State {
    /// A request line comes next.
    case line
    /// The keys of a retrieval come next.
    case keys(Retrieval)
    /// The rest of a refused line is skipped.
    case lineEnd
    /// The value of a request comes next.
    case value(Arrival)
    /// This number of bytes of a refused value is skipped.
    case skipped(Int)
  }

  /// The limit in bytes of a request line. Only a retrieval may be longer.
  static let longestLine = 2048

  init(
    _ items: ItemStore, counters: Counters, server: any ServerReports, credentials: Credentials?, output: ResponseQueue
  ) {
    self.items = items
    self.counters = counters
    self.server = server
    login = ClientLogin(credentials)
    self.output = output
  }

  /// Rises by one with each complete request line and each complete value.
  var requestCount: Int { progress.stepCount }

  /// Whether the line of a request was taken and the rest of the request is still arriving.
  var isWithinRequest: Bool { if case .line = state { false } else { true } }

  /// Processes requests until the input ends or the queue is full. Returns the number of bytes taken. The caller passes
  /// the other bytes again, followed by more.
  func consume(_ input: UnsafeRawBufferPointer) -> Int {
    var taken = 0
    hasYielded = false
    timer.start()
    defer { timer.pause() }
    while !isEnding, !output.isFull {
      let rest = UnsafeRawBufferPointer(rebasing: input[taken...])
      let count: Int
      switch state {
      case .line: count = takeLine(rest)
      case .keys(let retrieval): count = take(retrieval, rest)
      case .lineEnd: count = skipLine(rest)
      case .value(let arrival): count = take(arrival, rest)
      case .skipped(let left):
        count = min(left, rest.count)
        state = count == left ? .line : .skipped(left - count)
        if count == 0 { return taken }
      }
      if let kind = progress.takeCompleted() {
        counters.latencies.note(kind, timer.lap())
      }
      if count == 0 {
        // A retrieval that was refused between two keys takes nothing, and the rest of its line is skipped.
        if case .lineEnd = state, !rest.isEmpty { continue }
        return taken
      }
      taken += count
      if timer.isLong {
        hasYielded = true
        return taken
      }
    }
    return taken
  }

  // MARK: Lines

  private func takeLine(_ input: UnsafeRawBufferPointer) -> Int {
    if input.isEmpty { return 0 }
    items.flushIfDue()
    let end = input.firstIndex(of: Byte.lineFeed)
    if end == nil, input.count < MemcachedSession.longestLine { return 0 }
    if login.isDone, let (retrieval, length) = Retrieval.begin(input, now: Time.milliseconds()) {
      // If the whole line has arrived, its keys are checked before the first is answered.
      if let end, !Retrieval.hasKeys(input[length..<end]) {
        return refuse(line: end + 1, "CLIENT_ERROR bad command line format\r\n")
      }
      state = .keys(retrieval)
      return length
    }
    guard let end, end < MemcachedSession.longestLine else {
      refuse("CLIENT_ERROR line too long\r\n")
      isEnding = true
      return 0
    }
    let length = end > 0 && input[end - 1] == Byte.carriageReturn ? end - 1 : end
    run(RequestWords(UnsafeRawBufferPointer(rebasing: input[..<length])))
    return end + 1
  }

  private func refuse(line count: Int, _ text: StaticString) -> Int {
    refuse(text)
    return count
  }

  /// Queues an error.
  func refuse(_ text: StaticString, isQuiet: Bool = false) {
    counters.add(.requestErrors)
    if !isQuiet { output.append(text) }
  }

  /// Counts the error of a store, and queues it unless the client reads no answer.
  func refuse(_ error: StoreError, isQuiet: Bool = false) {
    switch error {
    case .noSpace: counters.add(.noRoom)
    case .tooLarge: counters.add(.tooLarge)
    default: break
    }
    if isQuiet { return counters.add(.requestErrors) }
    switch error {
    case .noSpace: refuse("SERVER_ERROR out of memory storing object\r\n")
    case .tooLarge: refuse("SERVER_ERROR object too large for cache\r\n")
    default:
      counters.add(.requestErrors)
      output.append("SERVER_ERROR \(MemcachedSession.oneLine(error.description))\r\n")
    }
  }

  private static func oneLine(_ text: String) -> String {
    String(text.unicodeScalars.prefix(300).map { $0.value < 0x20 ? " " : Character($0) })
  }

  private func run(_ words: RequestWords) {
    let kind = words.word(0).map { RequestKind(memcached: $0) } ?? .memcachedOther
    process(words)
    let awaitsValue = if case .value = state { true } else { false }
    progress.noteLine(kind, awaitsValue: awaitsValue)
  }

  private func process(_ words: RequestWords) {
    guard let command = words.word(0) else { return refuse("ERROR\r\n") }
    guard login.isDone else { return beginAuthentication(words) }
    if command.count == 2, command[0] == UInt8(ascii: "m") {
      counters.add(.metaCommands)
      return runMeta(command[1], words)
    }
    guard let known = TextCommand(command) else {
      // Disconnects HTTP clients at once: they do not wait, and the rest of their request cannot act as commands.
      if TextCommand.isOfAnotherProtocol(command) {
        counters.add(.requestErrors)
        isEnding = true
      } else {
        refuse("ERROR\r\n")
      }
      return
    }
    switch known {
    case .set, .add, .replace, .append, .prepend, .cas: beginStorage(known, words)
    case .delete: delete(words)
    case .incr, .decr: change(words, isIncrement: known == .incr)
    case .touch: touch(words)
    case .flushAll: flushAll(words)
    case .stats: stats(words)
    case .version: output.append("VERSION \(CacheStore.version)\r\n")
    case .verbosity: verbosity(words)
    case .quit: isEnding = true
    case .get, .gets: refuse("ERROR\r\n")
    case .gat, .gats: refuse(words.count < 3 ? "ERROR\r\n" : "CLIENT_ERROR invalid exptime argument\r\n")
    }
  }

  // MARK: Keys

  private func take(_ retrieval: Retrieval, _ input: UnsafeRawBufferPointer) -> Int {
    var retrieval = retrieval
    let (count, isDone) = retrieval.answer(input, self)
    if isDone { progress.noteLine(.memcachedGet, awaitsValue: false) }
    state = isDone ? retrieval.isRefused ? .lineEnd : .line : .keys(retrieval)
    return count
  }

  private func skipLine(_ input: UnsafeRawBufferPointer) -> Int {
    guard let end = input.firstIndex(of: Byte.lineFeed) else { return input.count }
    state = .line
    return end + 1
  }

  // MARK: Values

  /// Waits for the value of a request.
  func expect(_ arrival: Arrival) { state = .value(arrival) }

  /// Skips a value and its line end.
  func skip(valueOf byteCount: Int) { state = .skipped(byteCount + 2) }

  private func take(_ arrival: Arrival, _ input: UnsafeRawBufferPointer) -> Int {
    let count = arrival.take(input)
    if arrival.isWhole {
      state = .line
      finish(arrival)
    }
    return count
  }

  private func finish(_ arrival: Arrival) {
    progress.noteValue()
    switch arrival.purpose {
    case .storage(let request, let answer):
      guard arrival.endsLine else { return answer.isSilent ? () : refuse("CLIENT_ERROR bad data chunk\r\n") }
      let outcome = arrival.failure.map { items.refuse(request, $0) } ?? items.store(arrival.value, request)
      finish(outcome, request, answer)
    case .authentication: authenticate(arrival)
    }
  }

  private func finish(_ outcome: StorageOutcome, _ request: StorageRequest, _ answer: StorageAnswer) {
    counters.add(.sets)
    if case .stored = outcome { counters.add(.stored) }
    if case .compare = request.verb {
      switch outcome {
      case .stored: counters.add(.compareHits)
      case .exists: counters.add(.compareMismatches)
      default: counters.add(.compareMisses)
      }
    }
    answer.append(outcome, to: self)
  }

  // MARK: Credentials

  private func beginAuthentication(_ words: RequestWords) {
    guard words.count == 5, words[0].isEqual("set"), let count = words[4].unsignedNumber, count <= 1024 else {
      return refuseCredentials("CLIENT_ERROR unauthenticated\r\n")
    }
    expect(Arrival(.authentication, .bytes(CollectedBytes(nil)), byteCount: Int(count)))
  }

  private func authenticate(_ arrival: Arrival) {
    if arrival.endsLine, case .bytes(let collected) = arrival.value, login.admit(collected.bytes) {
      output.append("STORED\r\n")
    } else {
      refuseCredentials("CLIENT_ERROR authentication failure\r\n")
    }
  }

  /// Refuses a client without valid credentials, and ends the connection after too many attempts.
  private func refuseCredentials(_ text: StaticString) {
    counters.add(.authenticationErrors)
    refuse(text)
    login.noteFailure()
    if login.isRefused { isEnding = true }
  }
}
