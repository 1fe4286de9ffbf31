import Testing
import Vitrine

@testable import VitrineServer

/// Values over HTTP: reading, storing, removing, conditions and ranges.
struct HTTPValueTests {
  private static let path = "/v1/original/https%3A%2F%2Fexample.org%2Fa.jpg"

  @Test func aStoredValueIsReturnedWithItsFields() throws {
    let web = try WebConversation()
    let put = try web.request(
      "PUT", Self.path, ["Content-Type: image/jpeg", "Cache-Control: max-age=60"], body: Array("picture".utf8))
    #expect(put.status == 201)
    #expect(web.store.bytes("https://example.org/a.jpg") == Array("picture".utf8))
    let get = try web.request("GET", Self.path)
    #expect(get.status == 200)
    #expect(get.text == "picture")
    #expect(get.fields["content-type"] == "image/jpeg")
    #expect(get.fields["cache-control"] == "max-age=60")
    #expect(get.fields["accept-ranges"] == "bytes")
    let digest = Array("picture".utf8).withUnsafeBytes { Digest(of: $0) }
    #expect(get.fields["etag"] == "\"\(digest)\"")
    #expect(get.fields["content-length"] == "7")
    #expect(get.fields["date"]?.hasSuffix(" GMT") == true)
    #expect(get.fields["connection"] == nil)
  }

  @Test func headHasTheFieldsOfGetAndNoBody() throws {
    let web = try WebConversation()
    try web.store.put(Array("picture".utf8), for: "https://example.org/a.jpg")
    var get = try web.request("GET", Self.path).fields
    var head = try web.request("HEAD", Self.path)
    #expect(head.status == 200)
    #expect(head.body.isEmpty)
    (get["date"], head) = (nil, head)
    var fields = head.fields
    fields["date"] = nil
    #expect(fields == get)
    let miss = try web.request("HEAD", "/v1/original/none")
    #expect(miss.status == 404)
    #expect(miss.body.isEmpty)
  }

  @Test func aReplacedValueIsNoNewOne() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", Self.path, body: [1]).status == 201)
    #expect(try web.request("PUT", Self.path, body: [2]).status == 204)
    #expect(try web.request("PUT", Self.path, ["If-None-Match: *"], body: [3]).status == 412)
    #expect(try web.request("GET", Self.path).body == [2])
    #expect(try web.request("DELETE", Self.path).status == 204)
    #expect(try web.request("DELETE", Self.path).status == 404)
    #expect(try web.request("GET", Self.path).status == 404)
    #expect(try web.request("PUT", Self.path, ["If-None-Match: *"], body: [3]).status == 201)
  }

  @Test func emptyAndLongValuesAreStored() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", Self.path, body: []).status == 201)
    #expect(try web.request("GET", Self.path).body == [])
    // Longer than what is collected in memory.
    let long = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    #expect(try web.request("PUT", Self.path, ["Content-Type: a/b"], body: long, pieces: 40_000).status == 204)
    let get = try web.request("GET", Self.path)
    #expect(get.body == long)
    #expect(get.fields["content-type"] == "a/b")
  }

  @Test func valuesBeyondTheLimitAreRefusedBeforeTheyArrive() throws {
    let web = try WebConversation(largestValue: 1000)
    #expect(try web.request("PUT", Self.path, body: [UInt8](repeating: 0, count: 1000)).status == 201)
    for length in ["1001", "9223372036854775807", "99999999999999999999999"] {
      web.reconnect()
      let answers = web.responses(
        Array("PUT \(Self.path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n".utf8))
      #expect(answers.map(\.status) == [413], "\(length)")
      #expect((answers.first?.fields["connection"] == "close") == (length != "1001"))
    }
    #expect(web.items.memory.usedByteCount == 0)
    // The value before is still there.
    #expect(try web.request("GET", Self.path).body.count == 1000)
  }

  @Test func valuesThatFindNoMemoryAreRefused() throws {
    let web = try WebConversation(memoryByteCount: 2000)
    // The first one takes the memory once its first byte has come.
    _ = web.send(Array("PUT \(Self.path) HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n".utf8))
    #expect(web.items.memory.usedByteCount == 0)
    _ = web.send([1])
    #expect(web.items.memory.usedByteCount == 900)
    let other = HTTPSession(
      web.items, counters: web.counters,
      site: HTTPSite(reports: StubOperations(), isReadOnly: false, credentials: nil, log: nil), peer: "",
      output: ResponseQueue())
    let bytes = WebResponse.request("PUT", "/v1/original/b", [], body: [UInt8](repeating: 1, count: 200))
    _ = bytes.withUnsafeBytes { other.consume($0) }
    #expect(WebResponse.all(other.output.takeBytes()).map(\.status) == [507])
    // An ended connection frees its memory.
    web.reconnect()
    #expect(web.items.memory.usedByteCount == 0)
    #expect(try web.request("PUT", "/v1/original/b", body: [1]).status == 201)
  }

  @Test func aDelayedRemovalOfAllReachesHTTP() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", Self.path, body: [1]).status == 201)
    web.items.flush(at: 1)
    #expect(try web.request("GET", Self.path).status == 404)
  }

  // MARK: Names

  @Test func stylesAndURLsAreDecoded() throws {
    let web = try WebConversation()
    let bytes: [UInt8] = [0, 1, 0x80, 0xFF, 0x2F, 0x3F, 0x25]
    try web.store.put([1], for: CacheKey(bytes: bytes, Style("a/b@2x")!))
    #expect(try web.request("GET", "/v1/a%2fb%402x/%00%01%80%FF%2F%3F%25").body == [1])
    #expect(try web.request("GET", "/v1/a%2fb@2x/%00%01%80%ff/%3f%25").body == [1])
    #expect(try web.request("PUT", "/v1/original/", body: [2]).status == 201)
    #expect(web.store.bytes("") == [2])
    #expect(try web.request("PUT", "/v1/original/http://a//b", body: [3]).status == 201)
    #expect(web.store.bytes("http://a//b") == [3])
  }

  @Test func malformedNamesAreRefused() throws {
    let web = try WebConversation()
    for path in [
      "/v1/original/%", "/v1/original/%4", "/v1/original/%zz", "/v1/original/a%G0", "/v1/%/a", "/v1//a", "/v1/%20/a",
      "/v1/%C3%A4/a", "/v1/original/a?b", "/v1/original/a#b", "/v1/\(String(repeating: "s", count: 256))/a",
    ] {
      #expect(try web.request("GET", path).status == 400, "\(path)")
    }
    for path in ["/", "/v1", "/v1/", "/v1/original", "/v2/original/a", "*", "http://a/v1/original/a"] {
      #expect(try web.request("GET", path).status == 404, "\(path)")
    }
  }

  // MARK: Conditions

  @Test func aKnownValueIsNotSentAgain() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", Self.path, ["Cache-Control: max-age=60"], body: [1, 2, 3]).status == 201)
    let tag = try #require(try web.request("GET", Self.path).fields["etag"])
    for list in [tag, "W/\(tag)", "\"x\", \(tag)", "\"x\" ,\t\(tag)", "*"] {
      let answer = try web.request("GET", Self.path, ["If-None-Match: \(list)"])
      #expect(answer.status == 304, "\(list)")
      #expect(answer.fields["etag"] == tag)
      #expect(answer.fields["cache-control"] == "max-age=60")
      #expect(answer.fields["content-length"] == nil)
      #expect(try web.request("HEAD", Self.path, ["If-None-Match: \(list)"]).status == 304)
    }
    for list in ["\"x\"", String(tag.dropFirst()), "x", ""] {
      #expect(try web.request("GET", Self.path, ["If-None-Match: \(list)"]).status == 200, "\(list)")
    }
    #expect(try web.request("GET", Self.path, ["If-Match: \(tag)"]).status == 200)
    #expect(try web.request("GET", Self.path, ["If-Match: W/\(tag)"]).status == 412)
  }

  // MARK: Ranges

  @Test func partsOfValuesAreReturned() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", Self.path, body: Array("0123456789".utf8)).status == 201)
    for (range, text, field) in [
      ("0-0", "0", "0-0"), ("2-4", "234", "2-4"), ("7-", "789", "7-9"), ("-3", "789", "7-9"),
      ("-99", "0123456789", "0-9"),
      ("5-99999999999999999999", "56789", "5-9"), ("9-9", "9", "9-9"),
    ] {
      let answer = try web.request("GET", Self.path, ["Range: bytes=\(range)"])
      #expect(answer.status == 206, "\(range)")
      #expect(answer.text == text)
      #expect(answer.fields["content-range"] == "bytes \(field)/10")
    }
    for range in ["10-", "99999999999999999999-", "-0"] {
      let answer = try web.request("GET", Self.path, ["Range: bytes=\(range)"])
      #expect(answer.status == 416, "\(range)")
      #expect(answer.fields["content-range"] == "bytes */10")
    }
    for field in [
      "bytes=1-2,4-5", "bytes=4-2", "bytes=", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=1", "bytes=1-2-3",
    ] {
      let answer = try web.request("GET", Self.path, ["Range: \(field)"])
      #expect(answer.status == 200, "\(field)")
      #expect(answer.body.count == 10)
    }
    #expect(try web.request("HEAD", Self.path, ["Range: bytes=1-2"]).fields["content-length"] == "10")
  }

  @Test func aRangeOfAnotherValueIsTheWhole() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", Self.path, body: [1, 2, 3]).status == 201)
    let tag = try #require(try web.request("GET", Self.path).fields["etag"])
    #expect(try web.request("GET", Self.path, ["Range: bytes=1-1", "If-Range: \(tag)"]).body == [2])
    #expect(try web.request("GET", Self.path, ["Range: bytes=1-1", "If-Range: \"x\""]).body == [1, 2, 3])
  }

  @Test func partsOfCompressedValuesAreReturned() throws {
    let web = try WebConversation()
    let text = Array(String(repeating: "compressible ", count: 10_000).utf8)
    #expect(try web.request("PUT", Self.path, body: text).status == 201)
    let answer = try web.request("GET", Self.path, ["Range: bytes=50000-50099"])
    #expect(answer.body == Array(text[50_000..<50_100]))
    #expect(web.items.memory.usedByteCount == 0)
  }

  // MARK: Metadata

  @Test func metadataCannotBreakTheHead() throws {
    let web = try WebConversation()
    for line in ["content-type: a\rX-Evil: 1\n", "content-type: a\u{0}b\n", "content-type: \n"] {
      try web.store.put([1], for: "k", options: PutOptions(metadata: Array(line.utf8)))
      let answer = try web.request("GET", "/v1/original/k")
      #expect(answer.status == 200)
      #expect(answer.fields["content-type"] == nil)
      #expect(answer.fields["x-evil"] == nil)
    }
    try web.store.put([1], for: "k", options: PutOptions(metadata: [0xFF, 0xFE, 0x0A, 0x00]))
    #expect(try web.request("GET", "/v1/original/k").status == 200)
    try web.store.put([1], for: "k", options: PutOptions(metadata: Array("content-type: image/png\n".utf8)))
    #expect(try web.request("GET", "/v1/original/k").fields["content-type"] == "image/png")
  }

  @Test func memcachedClientsSeeTheSameValues() throws {
    let web = try WebConversation()
    #expect(try web.request("PUT", "/v1/square-60/k", ["Content-Type: a/b"], body: Array("abc".utf8)).status == 201)
    let output = ResponseQueue()
    let session = MemcachedSession(
      web.items, counters: web.counters, server: StubReports(), credentials: nil, output: output)
    session.consume(all: "get k#square-60\r\nappend k#square-60 0 0 1\r\nd\r\n")
    #expect(
      String(decoding: output.takeBytes(), as: UTF8.self) == "VALUE k#square-60 0 3\r\nabc\r\nEND\r\nSTORED\r\n")
    let answer = try web.request("GET", "/v1/square-60/k")
    #expect(answer.text == "abcd")
    #expect(answer.fields["content-type"] == "a/b")
  }
}
