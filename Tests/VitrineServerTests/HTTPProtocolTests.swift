import Testing
import Vitrine

@testable import VitrineServer

/// The protocol HTTP itself: heads, bodies, pipelining, and peers that break its rules.
struct HTTPProtocolTests {
  @Test(arguments: [1, 2, 7, 64]) func requestsMayArriveInPieces(_ pieces: Int) throws {
    let web = try WebConversation()
    let bytes =
      WebResponse.request("PUT", "/v1/original/k", ["Content-Type: a/b"], body: Array("value".utf8))
      + WebResponse.request("GET", "/v1/original/k", [], body: nil)
      + WebResponse.request("DELETE", "/v1/original/k", [], body: nil)
      + WebResponse.request("GET", "/v1/original/k", [], body: nil)
    let answers = web.responses(bytes, pieces: pieces)
    #expect(answers.map(\.status) == [201, 200, 204, 404])
    #expect(answers[1].text == "value")
    #expect(!web.session.isEnding)
    #expect(!web.session.isWithinRequest)
  }

  @Test func pipelinedRequestsAreAnsweredInTheirOrder() throws {
    let web = try WebConversation()
    var bytes: [UInt8] = []
    for number in 0..<500 {
      bytes += WebResponse.request("PUT", "/v1/original/k\(number)", [], body: Array("\(number)".utf8))
      bytes += WebResponse.request("GET", "/v1/original/k\(number)", [], body: nil)
    }
    let answers = web.responses(bytes, pieces: 10_000)
    #expect(answers.count == 1000)
    for number in 0..<500 { #expect(answers[2 * number + 1].text == "\(number)") }
  }

  @Test func theQueueOfAPipeliningClientIsBounded() throws {
    let web = try WebConversation()
    try web.store.put([UInt8](repeating: 7, count: 1 << 20), for: "k")
    let requests = (0..<100).flatMap { _ in WebResponse.request("GET", "/v1/original/k", [], body: nil) }
    let output = ResponseQueue()
    let session = HTTPSession(
      web.items, counters: web.counters,
      site: HTTPSite(reports: StubOperations(), isReadOnly: false, credentials: nil, log: nil), peer: "", output: output
    )
    var taken = 0
    while !output.isFull, taken < requests.count {
      taken += requests[taken...].withUnsafeBytes { session.consume($0) }
    }
    #expect(output.isFull)
    #expect(taken < requests.count)
    let bytes = output.takeBytes()
    #expect(bytes.count < 10 << 20)
    let rest = Array(requests[taken...])
    #expect(rest.withUnsafeBytes { session.consume($0) } > 0)
  }

  @Test func clientsThatAskForTheEndGetIt() throws {
    for text in ["GET /health HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", "GET /health HTTP/1.0\r\n\r\n"] {
      let web = try WebConversation()
      let answers = web.responses(Array((text + text).utf8))
      #expect(answers.map(\.status) == [200])
      #expect(answers[0].fields["connection"] == "close")
      #expect(web.session.isEnding)
    }
  }

  @Test func malformedHeadsAreRefusedAndEndTheConnection() throws {
    let web = try WebConversation()
    try web.store.put([1], for: "k")
    for (text, status) in [
      ("GET\r\n", 400), ("GET /health\r\n", 400), ("GET  /health HTTP/1.1\r\n", 400),
      (" GET /health HTTP/1.1\r\n", 400),
      ("GET /health HTTP/1.1 \r\n", 400), ("GET /health HTTP/2.0\r\n", 505), ("GET /health http/1.1\r\n", 400),
      ("G\u{0}T /health HTTP/1.1\r\n", 400), ("GET /hea\u{0}lth HTTP/1.1\r\n", 400), ("G(T /health HTTP/1.1\r\n", 400),
      ("GET /v1/original/\u{e4} HTTP/1.1\r\nHost: a\r\n", 400), ("GET /health HTTP/1.1\r\n", 400),
      ("GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400), ("GET /health HTTP/1.1\r\nHost : a\r\n", 400),
      ("GET /health HTTP/1.1\r\nHost: a\r\n folded\r\n", 400), ("GET /health HTTP/1.1\r\nHost: a\u{0}b\r\n", 400),
      ("GET /health HTTP/1.1\r\nHost: a\rb\r\n", 400), ("GET /health HTTP/1.1\nHost: a\r\n", 400),
      ("GET /health HTTP/1.1\r\nHost: a\r\n: b\r\n", 400), ("GET /health HTTP/1.1\r\nHost: a\r\nb\r\n", 400),
      ("\u{1}\u{2}\u{3}\r\n", 400), (String(repeating: "A", count: 33) + " /health HTTP/1.1\r\n", 400),
      ("GET /health HTTP/1.1\r\nHost: a\r\n" + String(repeating: "x: y\r\n", count: 100), 431),
      ("GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n", 400),
      ("DELETE /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\n", 411),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n", 411),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n", 400),
      ("PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n", 400),
    ] {
      web.reconnect()
      // The bytes behind a refused request are no request.
      let answers = web.responses(Array((text + "\r\nDELETE /v1/original/k HTTP/1.1\r\nHost: a\r\n\r\n").utf8))
      #expect(answers.map(\.status) == [status], "\(text)")
      #expect(answers.first?.fields["connection"] == "close", "\(text)")
      #expect(answers.first?.text.hasSuffix("\n") == true)
      #expect(web.store.contains("k"))
    }
  }

  @Test func anEndlessHeadIsRefusedAtItsLimit() throws {
    let web = try WebConversation()
    let begin = Array("GET /health HTTP/1.1\r\nHost: a\r\nx: ".utf8)
    #expect(web.send(begin).isEmpty)
    var sent = begin.count
    var answer: [UInt8] = []
    while answer.isEmpty, sent < 64 << 10 {
      answer = web.send([UInt8](repeating: UInt8(ascii: "a"), count: 1000))
      sent += 1000
    }
    #expect(WebResponse.all(answer).map(\.status) == [431])
    #expect(sent <= RequestHead.longest + 1000)
    // All that follows is dropped, also requests, until the client has read the answer.
    #expect(web.session.isDraining)
    #expect(web.send([UInt8](repeating: UInt8(ascii: "a"), count: 100_000)).isEmpty)
    #expect(web.send(Array("\r\n\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n".utf8)).isEmpty)
    #expect(web.session.isDraining && !web.session.isEnding)
  }

  @Test func theLongestHeadIsAccepted() throws {
    let web = try WebConversation()
    let begin = "GET /v1/original/"
    let end = " HTTP/1.1\r\nHost: a\r\n\r\n"
    let url = String(repeating: "u", count: RequestHead.longest - begin.utf8.count - end.utf8.count)
    try web.store.put([1], for: url)
    #expect(web.responses(Array((begin + url + end).utf8), pieces: 5000).map(\.status) == [200])
  }

  @Test func theBodyOfARefusedRequestIsSkipped() throws {
    let web = try WebConversation(largestValue: 1000)
    let bodies = WebResponse.request("DELETE", "/v1/original/k", [], body: nil)
    for (path, status) in [("/v1/original/%", 400), ("/none", 404), ("/health", 405), ("/v1/original/long", 413)] {
      try web.store.put([1], for: "k")
      // The body is a request that must not be run.
      let body = (0..<100).flatMap { _ in bodies }
      let answers = web.responses(
        WebResponse.request("PUT", path, [], body: body) + WebResponse.request("GET", "/v1/original/k", [], body: nil),
        pieces: 1000)
      #expect(answers.map(\.status) == [status, 200], "\(path)")
      #expect(answers.first?.fields["connection"] == nil)
      web.reconnect()
      let last = web.responses(
        WebResponse.request("PUT", path, ["Connection: close"], body: body)
          + WebResponse.request("GET", "/v1/original/k", [], body: nil), pieces: 1000)
      #expect(last.map(\.status) == [status])
      #expect(web.session.isEnding)
      web.reconnect()
    }
  }

  @Test func aClientThatWaitsIsToldToSendItsBody() throws {
    let web = try WebConversation(largestValue: 1000)
    let head = "PUT /v1/original/k HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: "
    #expect(web.responses(Array("\(head)3\r\n\r\n".utf8)).map(\.status) == [100])
    #expect(web.session.isWithinRequest)
    #expect(web.responses(Array("abc".utf8)).map(\.status) == [201])
    // A refusal comes instead of the word.
    #expect(web.responses(Array("\(head)3000\r\n\r\n".utf8)).map(\.status) == [413])
  }

  @Test func methodsThatAResourceDoesNotHaveAreNamed() throws {
    let web = try WebConversation()
    for method in ["POST", "PATCH", "OPTIONS", "BREW", "get"] {
      let answer = try web.request(method, "/v1/original/k")
      #expect(answer.status == 405, "\(method)")
      #expect(answer.fields["allow"] == "GET, HEAD, PUT, DELETE")
    }
    for path in ["/metrics", "/status", "/health"] {
      for method in ["DELETE", "POST"] {
        let answer = try web.request(method, path)
        #expect(answer.status == 405)
        #expect(answer.fields["allow"] == "GET, HEAD")
      }
      #expect(try web.request("GET", path + "?a=b").status == 200)
      #expect(try web.request("HEAD", path).body.isEmpty)
    }
    #expect(try web.request("PUT", "/health", body: [1]).status == 405)
    #expect(try web.request("POST", "/v1/original/k", body: []).status == 405)
  }

  @Test func requestsThatMeanAnotherChangeAreRefused() throws {
    let web = try WebConversation()
    for (field, status) in [
      ("Content-Range: bytes 0-0/5", 400), ("Content-Encoding: gzip", 415), ("If-Match: \"a\"", 400),
      ("If-None-Match: \"a\"", 400), ("Origin: http://evil.example", 403), ("Content-Encoding: identity", 201),
      ("Content-Type: \(String(repeating: "a", count: 1025))", 431),
    ] {
      #expect(try web.request("PUT", "/v1/original/\(status)", [field], body: [1]).status == status, "\(field)")
      #expect(web.store.contains("\(status)") == (status == 201))
    }
    #expect(try web.request("DELETE", "/v1/original/201", ["Origin: null"]).status == 403)
    #expect(try web.request("DELETE", "/v1/original/201", ["If-Match: *"]).status == 400)
    #expect(try web.request("GET", "/v1/original/201", ["Origin: http://a.example"]).status == 200)
  }

  @Test func aReadOnlyServerChangesNothing() throws {
    let web = try WebConversation(isReadOnly: true)
    try web.store.put([1], for: "k")
    for method in ["PUT", "DELETE"] {
      let answer = try web.request(method, "/v1/original/k", body: method == "PUT" ? [2] : nil)
      #expect(answer.status == 405)
      #expect(answer.fields["allow"] == "GET, HEAD")
    }
    #expect(try web.request("GET", "/v1/original/k").body == [1])
    let output = ResponseQueue()
    let session = MemcachedSession(
      web.items, counters: web.counters, server: StubReports(), credentials: nil, output: output)
    let requests =
      "set k 0 0 1\r\n2\r\nadd n 0 0 1\r\n2\r\nappend k 0 0 1\r\n2\r\ndelete k\r\nincr k 1\r\ntouch k 5\r\n"
      + "ms k 1 T0\r\n2\r\nmd k\r\nma k N0\r\nmg n N0 v\r\ngat 5 k\r\nset k 0 -1 1\r\n2\r\nflush_all\r\nget k\r\n"
    session.consume(all: requests)
    let lines = String(decoding: output.takeBytes(), as: UTF8.self).components(separatedBy: "\r\n")
    let refusal = "SERVER_ERROR the store is open for reading only"
    #expect(lines.count { $0 == refusal } == 11)
    #expect(web.store.bytes("k") == [1])
    #expect(web.store.count == 1)
  }

  @Test func aServerWithPasswordsAsksForThem() throws {
    let web = try WebConversation(credentials: Credentials(file: "name:secret:word\n"))
    // name:secret:word, name:wrong, and text without a colon.
    let good = "Authorization: Basic bmFtZTpzZWNyZXQ6d29yZA=="
    for fields in [
      [], ["Authorization: Basic bmFtZTp3cm9uZw=="], ["Authorization: Basic bmFtZQ=="], ["Authorization: Basic %"],
      ["Authorization: Bearer x"], ["Authorization: Basic"],
    ] {
      for path in ["/v1/original/k", "/metrics", "/status"] {
        let answer = try web.request("GET", path, fields)
        #expect(answer.status == 401)
        #expect(answer.fields["www-authenticate"]?.hasPrefix("Basic ") == true)
      }
      #expect(try web.request("PUT", "/v1/original/k", fields, body: [1]).status == 401)
    }
    #expect(!web.store.contains("k"))
    #expect(try web.request("GET", "/health").status == 200)
    #expect(try web.request("PUT", "/v1/original/k", [good], body: [1]).status == 201)
    #expect(try web.request("GET", "/v1/original/k", [good]).body == [1])
    #expect(web.counters[.authenticationErrors] == 24)
  }

  @Test func anUnwritableStoreIsNotHealthy() throws {
    let web = try WebConversation(reports: StubOperations(.storeRemoved))
    let answer = try web.request("GET", "/health")
    #expect(answer.status == 503)
    #expect(answer.text == "the store's folder was removed or replaced\n")
    #expect(try WebConversation().request("GET", "/health").text == "ok\n")
  }

  @Test func randomBytesAreAnsweredOrRefused() throws {
    let web = try WebConversation()
    var state = UInt64(20_261_127)
    func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
    let words: [String] = [
      "GET ", "PUT ", "DELETE ", "HEAD ", "/v1/original/k", "/v1/", "/metrics", " HTTP/1.1", " HTTP/1.0", "\r\n",
      "\r\n\r\n",
      "Host: a\r\n", "Content-Length: ", "5", "99999999999999999999", "%", "%00", "\u{0}", "Range: bytes=", "-",
      "If-None-Match: ",
      "Expect: 100-continue\r\n", "Transfer-Encoding: chunked\r\n", ":", " ", "\n", "\"", ",", "*",
    ]
    for _ in 0..<2000 {
      web.reconnect()
      let text = (0..<(1 + next() % 24)).map { _ in words[Int(next() % UInt64(words.count))] }.joined()
      let whole = web.send(Array(text.utf8))
      let store = web.store.bytes("k")
      // Pieces of any length have the same answers, but for their dates.
      if store == nil {
        web.reconnect()
        let pieces = web.send(Array(text.utf8), pieces: Int(1 + next() % 9))
        #expect(WebResponse.all(whole).map(\.status) == WebResponse.all(pieces).map(\.status), "\(text)")
      }
      try web.store.remove("k")
    }
    web.reconnect()
    #expect(web.items.memory.usedByteCount == 0)
  }
}
