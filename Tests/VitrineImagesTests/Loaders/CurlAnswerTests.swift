#if os(Linux)
  import Foundation
  import LocalServer
  import Testing

  @testable import VitrineImages

  /// Answers that browsers take, and hostile ones.
  @Suite struct CurlAnswerTests {
    static let body = LoaderTests.body
    static let length = "Content-Length: \(body.count)\r\n"

    private func fetch(
      _ server: RawServer, _ loader: CurlLoader = CurlLoader(timeoutSeconds: 3600), attempts: Int = 1,
      most: Int = 1 << 20
    ) async throws -> HTTPFetcher.Fetched {
      try await HTTPFetcher(loader, .init(attemptCount: attempts, pauseMilliseconds: 1, mostBytes: most))
        .fetch(LoadRequest(url: server.url("/")))
    }

    private func isInterruption(_ error: any Error) -> Bool {
      if case .interrupted? = error as? LoadError { true } else { false }
    }

    // MARK: Taken

    @Test(arguments: [
      "HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 OK\n",
      "HTTP/1.1 200 OK\r\nX-A : a\r\n",
      "HTTP/1.1 200 OK\r\n: x\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n", "HTTP/1.1 200 OK\r\nX: a\u{1}b\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\n", "HTTP/1.1 200 OK\r\nContent-Encoding: aws-chunked\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding:\r\n", "HTTP/1.1 201 Created\r\n", "HTTP/1.1 202 Accepted\r\n",
      "HTTP/1.1 203 Other\r\n", "HTTP/1.1 226 IM Used\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n",
      "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\(length)",
    ])
    func oddHeadIsAccepted(_ head: String) async throws {
      let server = try RawServer { _ in [.text(head + Self.length + "\r\n"), .send(Self.body), .close] }
      #expect(try await fetch(server).body == Self.body)
      #expect(server.heads.count == 1)
    }

    @Test func bareLineFeedsEndLines() async throws {
      let server = try RawServer { _ in
        [.text("HTTP/1.1 200 OK\nETag: \"a\"\nContent-Length: \(Self.body.count)\n\n"), .send(Self.body), .close]
      }
      let fetched = try await fetch(server)
      #expect(fetched.body == Self.body && fetched.headers["ETag"] == "\"a\"")
    }

    @Test func headerOutsideUTF8IsAccepted() async throws {
      let server = try RawServer { _ in
        [
          .text("HTTP/1.1 200 Tr"), .send([0xE8]), .text("s bien\r\nContent-Disposition: inline; filename=\"b"),
          .send([0xEF]), .text("ld.jpg\"\r\n" + Self.length + "\r\n"), .send(Self.body), .close,
        ]
      }
      let fetched = try await fetch(server)
      #expect(fetched.body == Self.body)
      #expect(fetched.headers["Content-Disposition"] == "inline; filename=\"bïld.jpg\"")
    }

    @Test func trailerBehindChunksIsIgnored() async throws {
      let server = try RawServer { _ in
        [
          .text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n3\r\nabc\r\n0\r\n"),
          .text("ETag: \"late\"\r\n\r\n"),
        ]
      }
      let fetched = try await fetch(server)
      #expect(fetched.body == Array("abc".utf8) && fetched.headers["ETag"] == nil)
    }

    @Test func emptyAcceptedAnswerIsItsStatus() async throws {
      for status in [201, 202, 204, 226] {
        let server = try RawServer { _ in [.text("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")] }
        await #expect(throws: LoadError.status(status)) { try await fetch(server) }
      }
    }

    @Test func addressOfIPv6IsLoaded() async throws {
      // A machine may have no IPv6.
      guard
        let server = try? RawServer(
          isIPv6: true, { _ in [.text("HTTP/1.1 200 OK\r\n" + Self.length + "\r\n"), .send(Self.body)] })
      else { return }
      let receiver = LoaderTests.Receiver()
      try await CurlLoader().load(LoadRequest(url: "HTTP://[::1]:\(server.port)/a%20b c.jpg"), receiver)
      #expect(receiver.bytes == Self.body)
      #expect(server.heads.first?.hasPrefix("GET /a%20b%20c.jpg HTTP/1.1\r\n") == true)
    }

    // MARK: Refused

    @Test(arguments: [
      "HTTP/1.1 200 OK\r\nContent-Ty", "HTTP/1.1 2", "HTTP", "220 mail.example.org ESMTP\r\n", "ICY 200 OK\r\n\r\n",
      "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 99999 OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\r\n\r\n", "\0\0\0\0",
      "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: 1",
      "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip,gzip,gzip,gzip,br\r\n\r\nabc", "HTTP/2 200\r\n\r\n",
    ])
    func malformedAnswerIsAnError(_ answer: String) async throws {
      let server = try RawServer { _ in [.text(answer), .close] }
      await #expect(throws: LoadError.self) {
        let fetched = try await fetch(server)
        // Some of these heads have no body, and some versions of libcurl accept them.
        if fetched.body?.isEmpty == true { throw LoadError.interrupted("an empty body") }
      }
      #expect(server.heads.count >= 1)
    }

    @Test(arguments: [Int.max, Int.max - 1, Int.max - 512, 1 << 62])
    func lengthNearTheEndOfNumbersIsAnError(_ length: Int) async throws {
      let server = try RawServer { _ in
        [.text("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nabc"), .close]
      }
      await #expect(throws: LoadError.tooLarge(limit: 1 << 20)) { try await fetch(server) }
      await #expect {
        try await fetch(server, most: .max)
      } throws: {
        isInterruption($0)
      }
    }

    @Test func lengthBeyondAllNumbersIsNoLength() async throws {
      let server = try RawServer { _ in
        [.text("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc"), .close]
      }
      // Versions of libcurl differ: an error, or a body that the end of the connection ends.
      do {
        #expect(try await fetch(server).body == Array("abc".utf8))
      } catch {
        #expect(error is LoadError)
      }
    }

    // MARK: Limits

    @Test func endlessHeadEndsAtItsLimit() async throws {
      let server = try RawServer { _ in
        [.text("HTTP/1.1 200 OK\r\n"), .endless(Array("X-A: \(String(repeating: "a", count: 1000))\r\n".utf8))]
      }
      await #expect {
        try await fetch(server)
      } throws: {
        isInterruption($0)
      }
    }

    @Test(arguments: [
      "HTTP/1.1 103 Early\r\n\r\n", "X", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1\r\n",
    ])
    func otherEndlessHeadEndsAtALimit(_ text: String) async throws {
      let isTrailer = text.contains("chunked")
      let server = try RawServer { _ in
        isTrailer ? [.text(text), .endless(Array("X: 1\r\n".utf8))] : [.endless(Array(text.utf8))]
      }
      await #expect {
        try await fetch(server)
      } throws: {
        isInterruption($0)
      }
    }

    @Test func endlessBodyEndsAtTheLimitOfTheReceiver() async throws {
      for head in ["", "Transfer-Encoding: chunked\r\n"] {
        let piece = head.isEmpty ? "abcdefgh" : "8\r\nabcdefgh\r\n"
        let server = try RawServer { _ in
          [.text("HTTP/1.1 200 OK\r\n\(head)\r\n"), .endless(Array(String(repeating: piece, count: 500).utf8))]
        }
        await #expect(throws: LoadError.tooLarge(limit: 1 << 20)) { try await fetch(server) }
      }
    }

    /// The receiver gets at most one piece beyond its limit, however much the body would unpack to.
    @Test(arguments: ["gzip", "deflate"])
    func packedBodyIsUnpackedUpToTheLimit(_ coding: String) async throws {
      let bits = coding == "gzip" ? 31 : 15
      let zeros = [UInt8](repeating: 0, count: 1 << 20)
      let first = Packed.bytes(zeros, windowBits: bits, isOpen: true)
      let more = Packed.bytes(zeros, windowBits: -15, isOpen: true)
      let server = try RawServer { _ in
        [.text("HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\n\r\n"), .send(first), .endless(more)]
      }
      let receiver = LoaderTests.Receiver(most: 10 << 20)
      await #expect(throws: LoadError.tooLarge(limit: 10 << 20)) {
        try await CurlLoader().load(LoadRequest(url: server.url("/")), receiver)
      }
      #expect(receiver.bytes.count <= 10 << 20 + ContentDecoder.pieceByteCount)
    }

    // MARK: Time

    @Test func silenceAtAnyPlaceTimesOut() async throws {
      let starts = [
        "", "HTTP/1.1 200 OK\r\nX-", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
      ]
      for start in starts {
        let server = try RawServer { _ in [.text(start), .hold] }
        await #expect(throws: LoadError.timedOut) { try await fetch(server, CurlLoader(timeoutSeconds: 0.3)) }
      }
    }

    @Test func drippingBytesEndWithTheTimeOfALoad() async throws {
      let drip = Array(repeating: [RawServer.Step.text("a"), .pause(20)], count: 3000).flatMap { $0 }
      for start in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: "] {
        let server = try RawServer { _ in [.text(start)] + drip }
        await #expect(throws: LoadError.timedOut) {
          try await fetch(server, CurlLoader(timeoutSeconds: 20, mostSeconds: 0.5))
        }
      }
    }
  }
#endif
