import Testing

@testable import VitrineImages

@Suite struct ResponseHeadTests {
  private func head(_ lines: [String], status: Int = 200) throws -> ResponseHead {
    try head(lines.map { Array($0.utf8) }, status: status)
  }

  private func head(_ lines: [[UInt8]], status: Int = 200) throws -> ResponseHead {
    var head = ResponseHead()
    for line in lines { try line.withUnsafeBytes { try head.add($0, status: status) } }
    return head
  }

  @Test func headersAreReadInAnyForm() throws {
    let lines = [
      "HTTP/1.1 200 OK\r\n", "Content-Type: image/png\r\n", "X-Blank : a\r\n", "x-empty:\n", "no colon\r\n", ": x\r\n",
      "Cache-Control: max-age=60\r\n", "cache-control:no-store\n", "X-Long: a\r\n", "\t b \r\n", " \r\n", " c\r\n",
      "\r\n",
    ]
    let head = try head(lines)
    #expect(head.isComplete)
    let expected = [
      "Content-Type": "image/png", "X-Blank": "a", "x-empty": "", "Cache-Control": "max-age=60, no-store",
      "X-Long": "a b c",
    ]
    #expect(head.headers == expected)
  }

  @Test func valueOutsideUTF8IsReadAsLatin1() throws {
    let name = Array("X-Name: gr".utf8) + [0xFC, 0xDF, 0x65, 0x0D, 0x0A]
    let head = try head([Array("HTTP/1.1 200\r\n".utf8), name, Array("X-Other: grüße\r\n".utf8), [0x0A]])
    #expect(head.headers == ["X-Name": "grüße", "X-Other": "grüße"])
    #expect(head["x-name"] == [0x67, 0x72, 0xFC, 0xDF, 0x65])
  }

  @Test func firstOfContradictoryValuesCounts() throws {
    let head = try head([
      "HTTP/1.1 200 OK\r\n", "ETag: \"a\"\r\n", "ETag: \"b\"\r\n", " folded\r\n", "location: /a\r\n",
      "Location: /b\r\n",
      "\r\n",
    ])
    #expect(head.headers == ["ETag": "\"a\"", "location": "/a"])
  }

  @Test func interimHeadIsReplacedByTheFinalOne() throws {
    var head = try head(["HTTP/1.1 103 Early\r\n", "Link: x\r\n", "\r\n"], status: 103)
    #expect(!head.isComplete)
    for line in ["HTTP/1.1 200 OK\r\n", "ETag: x\r\n", "\r\n", "X-Trailer: y\r\n"] {
      try Array(line.utf8).withUnsafeBytes { try head.add($0, status: 200) }
    }
    #expect(head.isComplete && head.headers == ["ETag": "x"])
  }

  @Test func headBeyondTheLimitIsAnError() throws {
    let line = "X: " + String(repeating: "a", count: 1000) + "\r\n"
    #expect(throws: LoadError.self) {
      try head(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: ResponseHead.mostByteCount / 1000))
    }
    // Trailers count as well.
    #expect(throws: LoadError.self) {
      try head(["HTTP/1.1 200 OK\r\n", "\r\n"] + Array(repeating: line, count: ResponseHead.mostByteCount / 1000))
    }
    _ = try head(["HTTP/1.1 200 OK\r\n"] + Array(repeating: line, count: ResponseHead.mostByteCount / 1010))
  }
}
