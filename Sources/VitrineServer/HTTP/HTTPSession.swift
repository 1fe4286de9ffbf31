import Vitrine

/// HTTP/1.1 on one connection: values of the store, and reports about the server. It knows no socket.
///
/// A body goes to the store as it arrives, under the limits of the memcached protocol. Pipelined requests are answered
/// in their order. The body of a refused request is skipped. If the end of the request is unknown, the connection ends.
///
/// Used by one thread.
final class HTTPSession: Session {
  let items: ItemStore
  let counters: Counters
  let site: HTTPSite
  let output: ResponseQueue
  private let client: HTTPClient
  private var state = State.head
  private(set) var requestCount = 0
  private var timer = RequestTimer()
  /// The request that is being processed.
  private var exchange = Exchange()
  private var search = HeadSearch()
  private(set) var hasYielded = false
  private var wrongCredentialsCount = 0

  private enum State {
    /// A request comes next.
    case head
    case body(Upload)
    /// The answer is being made elsewhere.
    case picture(PendingPicture)
    /// These bytes of a refused body are skipped.
    case skipped(left: Int)
    /// The connection ends soon. Until then, further bytes are dropped, so that the client can still read the answer.
    case refused
    /// The connection ends when the queued answers were sent.
    case ended
  }

  /// A client with wrong credentials is disconnected after so many requests.
  private static let mostWrongCredentials = 10

  /// `wake` is called on any thread when ``consume(_:)`` can go on after the session was suspended.
  /// `hasReceivedAll` tells whether the client has received all that was sent to it; nil for a connection that cannot
  /// pass descriptors.
  init(
    _ items: ItemStore, counters: Counters, site: HTTPSite, peer: String, output: ResponseQueue,
    hasReceivedAll: (() -> Bool)? = nil, wake: @escaping @Sendable () -> Void = {}
  ) {
    self.items = items
    self.counters = counters
    self.site = site
    let passed = hasReceivedAll.map { PassedValues(items.copies, hasReceivedAll: $0) }
    client = HTTPClient(name: peer, wake: wake, passed: passed)
    self.output = output
  }

  var isEnding: Bool { if case .ended = state { true } else { false } }

  var isWithinRequest: Bool {
    switch state {
    case .head, .ended: false
    case .body, .picture, .skipped, .refused: true
    }
  }

  var isSuspended: Bool { if case .picture = state { true } else { false } }

  var isDraining: Bool { if case .refused = state { true } else { false } }

  /// Unlike clients of memcached, browsers keep connections that they may never use again. A connection with passed
  /// values has no limit, because its end would release values that the client has mapped.
  func idleNanoseconds(_ limit: UInt64?) -> UInt64? {
    client.passed?.isEmpty ?? true ? min(60_000_000_000, limit ?? .max) : nil
  }

  func consume(_ input: UnsafeRawBufferPointer) -> Int {
    var taken = 0
    hasYielded = false
    timer.start()
    defer { timer.pause() }
    while !isEnding, !output.isFull {
      if case .picture(let pending) = state {
        guard let answer = pending.answer else { return taken }
        state = .head
        timer.add(pending.elapsed)
        finish(pending, answer)
        continue
      }
      let rest = UnsafeRawBufferPointer(rebasing: input[taken...])
      let count =
        switch state {
        case .head: takeHead(rest)
        case .body(let upload): take(upload, rest)
        case .skipped(let left): skip(rest, left)
        case .refused: rest.count
        case .picture, .ended: 0
        }
      if count == 0 { return taken }
      taken += count
      if timer.isLong {
        hasYielded = true
        return taken
      }
    }
    return taken
  }

  private func skip(_ input: UnsafeRawBufferPointer, _ left: Int) -> Int {
    let count = min(left, input.count)
    if count < left { state = .skipped(left: left - count) } else { state = exchange.isLast ? .ended : .head }
    return count
  }

  // MARK: Heads

  private func takeHead(_ input: UnsafeRawBufferPointer) -> Int {
    // Some clients send an empty line behind a body (RFC 9112, 2.2).
    if input.count >= 2, input[0] == Byte.carriageReturn, input[1] == Byte.lineFeed {
      search.restart()
      return 2
    }
    guard let end = search.end(in: input) else {
      if input.count < RequestHead.longest { return 0 }
      requestCount += 1
      exchange = Exchange()
      refuse(.headTooLarge, "the head of a request has at most \(RequestHead.longest) bytes", closes: true)
      return input.count
    }
    requestCount += 1
    exchange = Exchange()
    guard end >= 4, input[end - 2] == Byte.carriageReturn else {
      refuse(.badRequest, "a line of the head does not end with CR LF", closes: true)
      return end
    }
    do throws(RequestHead.Refusal) {
      run(try RequestHead(UnsafeRawBufferPointer(rebasing: input[..<(end - 2)])))
    } catch {
      refuse(error.status, error.text, closes: true)
    }
    return end
  }

  private func run(_ head: RequestHead) {
    exchange = Exchange(head)
    items.flushIfDue()
    let length: Int?
    do throws(RequestHead.Refusal) {
      length = try head.contentLength()
    } catch {
      return refuse(error.status, error.text, closes: true)
    }
    exchange.unreadCount = length ?? 0
    guard head.method == .put || exchange.unreadCount == 0 else {
      return refuse(.badRequest, "only PUT has a body", closes: true)
    }
    if let handles = head.value(of: ClientFields.release), client.passed?.release(handles) != true {
      return refuse(.badRequest, "\(ClientFields.release) has handles of values that this connection passed")
    }
    do throws(RequestHead.Refusal) {
      run(head, try RequestPath(head.target), length)
    } catch {
      refuse(error.status, error.text)
    }
  }

  private func run(_ head: RequestHead, _ path: RequestPath, _ length: Int?) {
    if let refusal = site.refusal(of: head, path) {
      if refusal.status == .unauthorized {
        counters.add(.authenticationErrors)
        wrongCredentialsCount += 1
      }
      let closes = wrongCredentialsCount == HTTPSession.mostWrongCredentials
      return refuse(refusal.status, refusal.text, fields: refusal.fields, closes: closes)
    }
    switch (path, head.method) {
    case (.value(let key), .get), (.value(let key), .head): get(key, head)
    case (.value(let key), .put): put(key, head, length)
    case (.value(let key), .delete): delete(key, head)
    case (.picture(let key), .get), (.picture(let key), .head): makePicture(key, head, wake: client.wake)
    case (.value, .other):
      refuse(
        .methodNotAllowed, "a value has the methods GET, HEAD, PUT and DELETE",
        fields: "Allow: \(items.isReadOnly ? HTTPSite.readingMethods : HTTPSite.allMethods)\r\n")
    case (_, .get), (_, .head): report(path)
    default:
      refuse(
        .methodNotAllowed, "this path has the methods GET and HEAD", fields: "Allow: \(HTTPSite.readingMethods)\r\n")
    }
  }

  private func report(_ path: RequestPath) {
    exchange.kind = .httpReport
    switch path {
    case .metrics: respond(.ok, HTTPSite.metricsFields, site.reports.metrics())
    case .status: respond(.ok, HTTPSite.pageFields, site.reports.statusPage())
    case .health:
      if let failure = site.reports.failure() {
        refuse(.serviceUnavailable, failure.description)
      } else {
        respond(.ok, HTTPSite.textFields, "ok\n")
      }
    case .value, .picture: break
    }
  }

  // MARK: Bodies

  /// Waits for the body of a request.
  func expect(_ upload: Upload, awaitsContinue: Bool) {
    exchange.unreadCount = 0
    if upload.isWhole { return finish(upload) }
    if awaitsContinue { output.append("HTTP/1.1 100 Continue\r\n\r\n") }
    state = .body(upload)
  }

  func connectionEnded() {
    if case .picture(let pending) = state { pending.cancel() }
  }

  /// Answers when the picture is made or refused.
  func wait(for picture: PendingPicture) { state = .picture(picture) }

  private func take(_ upload: Upload, _ input: UnsafeRawBufferPointer) -> Int {
    let count = upload.take(input)
    if upload.isWhole {
      state = .head
      finish(upload)
    }
    return count
  }

  // MARK: Answers

  /// Queues an error as a short text. `closes` ends the connection, because the end of the request is unknown.
  func refuse(_ status: HTTPStatus, _ text: String, fields: String = "", closes: Bool = false) {
    if status.isError { counters.add(.requestErrors) }
    if closes || exchange.bodyIsUncertain { exchange.isRefused = true }
    let line = String(text.unicodeScalars.prefix(300).map { $0.value < 0x20 ? " " : Character($0) })
    respond(status, fields + HTTPSite.textFields, line + "\n")
  }

  /// Queues an answer with a text.
  func respond(_ status: HTTPStatus, _ fields: String, _ text: String) {
    begin(status, fields, byteCount: text.utf8.count)
    if exchange.hasAnswerBody { output.append(text) }
    finish(status, byteCount: exchange.hasAnswerBody ? text.utf8.count : 0)
  }

  /// Queues an answer without a body. `byteCount` is the length of the body that a `GET` would get.
  func respond(_ status: HTTPStatus, _ fields: String, byteCount: Int = 0) {
    begin(status, fields, byteCount: byteCount)
    finish(status, byteCount: 0)
  }

  /// Queues an answer with a part of a value.
  func respond(_ status: HTTPStatus, _ fields: String, _ blob: Blob, _ share: MemoryShare, _ part: Range<Int>) {
    begin(status, fields, byteCount: part.count)
    if exchange.hasAnswerBody { output.append(blob, share, part: part) }
    finish(status, byteCount: exchange.hasAnswerBody ? part.count : 0)
  }

  /// Queues an answer that passes the file of a value in place of its bytes, if the connection and the client can.
  /// Returns false if the bytes must be sent.
  func respondByFile(_ head: RequestHead, _ fields: String, _ blob: Blob) -> Bool {
    guard ClientFields.acceptsDescriptor(head), output.isEmpty, let passed = client.passed?.pass(blob) else {
      return false
    }
    output.pass(passed.descriptor)
    respond(.ok, fields + passed.field)
    return true
  }

  /// Queues an answer with bytes that were made for it.
  func respond(_ status: HTTPStatus, _ fields: String, _ bytes: HeldBytes, _ share: MemoryShare) {
    begin(status, fields, byteCount: bytes.bytes.count)
    if exchange.hasAnswerBody { output.append(bytes, share) }
    finish(status, byteCount: exchange.hasAnswerBody ? bytes.bytes.count : 0)
  }

  private func begin(_ status: HTTPStatus, _ fields: String, byteCount: Int) {
    output.append("HTTP/1.1 \(status.rawValue) \(status.reason)\r\nDate: \(Time.webText(Time.milliseconds()))\r\n")
    output.append(fields)
    if !status.hasNoBody { output.append("Content-Length: \(byteCount)\r\n") }
    if exchange.isLast || exchange.isRefused { output.append("Connection: close\r\n") }
    output.append("\r\n")
  }

  private func finish(_ status: HTTPStatus, byteCount: Int) {
    counters.add(status.counter)
    let nanoseconds = timer.lap()
    counters.latencies.note(exchange.kind, nanoseconds)
    if let log = site.log {
      log.write(exchange.line(peer: client.name, status, byteCount: byteCount, nanoseconds: nanoseconds))
    }
    if exchange.isRefused {
      state = .refused
    } else if exchange.unreadCount > 0 {
      state = .skipped(left: exchange.unreadCount)
    } else if exchange.isLast {
      state = .ended
    }
  }

  /// Sets the kind under which the present request is counted.
  func note(_ kind: RequestKind) { exchange.kind = kind }
}

/// The client of a connection.
private struct HTTPClient {
  /// The address, for the log.
  let name: String
  /// Lets the connection go on.
  let wake: @Sendable () -> Void
  /// The values that it has mapped; nil if the connection cannot pass descriptors.
  let passed: PassedValues?
}

/// A request, as far as its answer depends on it.
private struct Exchange {
  var kind = RequestKind.httpOther
  let method: String
  let target: [UInt8]
  let isLast: Bool
  /// Whether the answer has a body: not for `HEAD`.
  let hasAnswerBody: Bool
  /// Whether the connection ends although the client may send more.
  var isRefused = false
  /// Bytes of the body, if it is not taken.
  var unreadCount = 0
  private let awaitsContinue: Bool

  init() { (method, target, isLast, hasAnswerBody, awaitsContinue) = ("-", [], true, true, false) }

  init(_ head: RequestHead) {
    method = head.methodName
    target = head.target
    isLast = head.isLast
    hasAnswerBody = head.method != .head
    awaitsContinue = head.awaitsContinue
  }

  /// Whether a body that is not taken is too long to skip, or may not come at all.
  var bodyIsUncertain: Bool { unreadCount > 0 && (awaitsContinue || unreadCount > Exchange.longestSkipped) }

  /// Longer bodies are not skipped.
  private static let longestSkipped = 1 << 30

  func line(peer: String, _ status: HTTPStatus, byteCount: Int, nanoseconds: UInt64) -> LogLine {
    var line = LogLine("request", peer: peer)
    line.add("method", method)
    line.add("target", target)
    line.add("status", UInt64(status.rawValue))
    line.add("bytes", UInt64(byteCount))
    line.add("microseconds", nanoseconds / 1000)
    return line
  }
}
