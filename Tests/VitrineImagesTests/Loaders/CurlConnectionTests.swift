#if os(Linux)
  import Foundation
  import LocalServer
  import Testing

  @testable import VitrineImages

  /// Connections, cancellation, headers and redirects.
  @Suite struct CurlConnectionTests {
    private func receive(
      _ url: String, _ loader: CurlLoader, _ headers: [String: String] = [:]
    ) async throws -> LoaderTests.Receiver {
      let receiver = LoaderTests.Receiver()
      try await loader.load(LoadRequest(url: url, headers: headers), receiver)
      return receiver
    }

    private func path(_ head: String) -> String { String(head.split(separator: " ")[1]) }

    private static func ok(_ text: String, _ headers: String = "") -> RawServer.Step {
      .text("HTTP/1.1 200 OK\r\n\(headers)Content-Length: \(text.utf8.count)\r\n\r\n\(text)")
    }

    // MARK: Connections

    /// Some versions of libcurl would append the folded line to memory that the first response had.
    @Test func foldedFirstHeaderHasNothingToContinue() async throws {
      let server = try RawServer { head in
        switch self.path(head) {
        case "/a": [Self.ok("abc", "X-Long: \(String(repeating: "a", count: 50))\r\n")]
        case "/b": [.text("HTTP/1.1 302 Found\r\n\t folded\r\nLocation: /c\r\nContent-Length: 0\r\n\r\n")]
        default: [.text("HTTP/1.1 200 OK\r\n\t folded\r\n more\r\nContent-Length: 3\r\n\r\ndef")]
        }
      }
      let loader = CurlLoader(timeoutSeconds: 3600, mostSeconds: 3600)
      for _ in 0..<20 {
        #expect(try await receive(server.url("/a"), loader).bytes == Array("abc".utf8))
        for path in ["/b", "/c"] {
          // A version of libcurl may refuse the response.
          do {
            #expect(try await receive(server.url(path), loader).bytes == Array("def".utf8))
          } catch LoadError.interrupted {
            continue
          }
        }
      }
    }

    @Test func connectionIsUsedAgain() async throws {
      let server = try RawServer { _ in [Self.ok("abc")] }
      let loader = CurlLoader()
      let clock = ContinuousClock()
      var lastLoad = clock.now
      // libcurl closes a connection that was idle for 118 seconds, and a busy machine may take longer between two
      // loads.
      var longPauses = 0
      for _ in 0..<5 {
        #expect(try await receive(server.url("/"), loader).bytes == Array("abc".utf8))
        if clock.now - lastLoad > .seconds(60) { longPauses += 1 }
        lastLoad = clock.now
      }
      #expect(server.connectionCount <= 1 + longPauses && server.heads.count == 5)
    }

    @Test func connectionThatTheServerClosedIsReplaced() async throws {
      let server = try RawServer { _ in [Self.ok("abc"), .close] }
      let loader = CurlLoader()
      for _ in 0..<5 { #expect(try await receive(server.url("/"), loader).bytes == Array("abc".utf8)) }
      #expect(server.heads.count == 5)
    }

    /// Loads that wait for a connection do not time out, although the ones before last longer than the time limit.
    @Test func connectionsOfAHostAreLimited() async throws {
      let running = Locked((now: 0, most: 0))
      let server = try RawServer { _ in
        running.withLock {
          $0.now += 1
          $0.most = max($0.most, $0.now)
        }
        usleep(100_000)
        running.withLock { $0.now -= 1 }
        return [Self.ok("abc")]
      }
      let loader = CurlLoader(timeoutSeconds: 30, connectionsPerHost: 3)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<20 {
          group.addTask {
            let receiver = try await receive(server.url("/"), loader)
            #expect(receiver.bytes == Array("abc".utf8))
          }
        }
        try await group.waitForAll()
      }
      #expect(server.connectionCount <= 3 && running.withLock { $0.most } <= 3)
    }

    @Test func waitingForAConnectionIsNoSilence() async throws {
      let server = try RawServer { head in
        // The first load is never silent for long, and takes several times the limit.
        let piece: [RawServer.Step] = [.text("a"), .pause(100)]
        return head.contains("/slow")
          ? [.text("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n")] + Array(repeating: piece, count: 50).flatMap { $0 }
          : [Self.ok("abc")]
      }
      let loader = CurlLoader(timeoutSeconds: 2, connectionsPerHost: 1)
      async let slow = receive(server.url("/slow"), loader)
      try await until { server.heads.count == 1 }
      #expect(try await receive(server.url("/fast"), loader).bytes == Array("abc".utf8))
      #expect(try await slow.bytes.count == 50)
    }

    @Test func connectionsAreClosedWithTheLoader() async throws {
      let server = try RawServer { _ in [Self.ok("abc")] }
      do {
        let loader = CurlLoader()
        _ = try await receive(server.url("/"), loader)
      }
      // The server's thread ends its connection only after the client has.
      try await until { server.openConnectionCount == 0 }
    }

    // MARK: Cancellation

    @Test func canceledLoadClosesItsConnection() async throws {
      let server = try RawServer { _ in [.text("HTTP/1.1 200 OK\r\n\r\nabc"), .hold] }
      let loader = CurlLoader(timeoutSeconds: 3600, mostSeconds: 3600)
      let receiver = LoaderTests.Receiver()
      let task = Task { try await loader.load(LoadRequest(url: server.url("/")), receiver) }
      try await until { !receiver.bytes.isEmpty }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await until { server.openConnectionCount == 0 }
    }

    @Test func loadsCanceledAtAnyMomentEnd() async throws {
      let server = try RawServer { _ in [.text("HTTP/1.1 302 Found\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n")] }
      let loader = CurlLoader(mostRedirects: 1_000_000)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<100 {
          group.addTask {
            let task = Task { try await receive(server.url("/a"), loader) }
            try? await Task.sleep(nanoseconds: UInt64(number) * 200_000)
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
          }
        }
      }
    }

    // MARK: Headers

    @Test func headersAreSentAsGiven() async throws {
      let server = try RawServer { _ in [Self.ok("")] }
      let loader = CurlLoader()
      _ = try await receive(
        server.url("/"), loader,
        ["X-Empty": "", "User-Agent": "own", "Accept-Encoding": "identity", "Cookie": "a=b", "X-Text": "grüße"])
      let lines = try #require(server.heads.first).split(separator: "\r\n").map(String.init)
      for line in ["X-Empty:", "User-Agent: own", "Accept-Encoding: identity", "Cookie: a=b", "X-Text: grüße"] {
        #expect(lines.contains(line))
      }
      _ = try await receive(server.url("/"), loader)
      let plain = try #require(server.heads.last)
      #expect(
        plain.contains("\r\nUser-Agent: Vitrine\r\n") && plain.contains("\r\nAccept-Encoding: gzip, deflate, br\r\n"))
    }

    @Test(arguments: ["X\r\nY", "", "X Y", "X:", "X;", "Ü"])
    func headerThatWouldChangeTheRequestIsRefused(_ name: String) async throws {
      let server = try RawServer { _ in [Self.ok("")] }
      await #expect(throws: ImageError.self) { try await receive(server.url("/"), CurlLoader(), [name: "a"]) }
      await #expect(throws: ImageError.self) {
        try await receive(server.url("/"), CurlLoader(), ["X": "a\(name)\r\nb"])
      }
      #expect(server.heads.isEmpty)
    }

    // MARK: Redirects

    @Test func redirectThatSetsACookieReturnsToItself() async throws {
      let server = try RawServer { head in
        head.contains("\r\nCookie: sid=1; own=2\r\n")
          ? [Self.ok("abc")]
          : [.text("HTTP/1.1 302 Found\r\nLocation: /a\r\nSet-Cookie: sid=1; Path=/\r\nContent-Length: 0\r\n\r\n")]
      }
      let loader = CurlLoader()
      #expect(try await receive(server.url("/a"), loader, ["Cookie": "own=2"]).bytes == Array("abc".utf8))
      #expect(server.heads.count == 2)
      // Another load has a jar of its own.
      #expect(try await receive(server.url("/a"), loader, ["Cookie": "own=2"]).bytes == Array("abc".utf8))
      #expect(server.heads.count == 4)
    }

    @Test func passwordInAURLIsNotSentToAnotherServer() async throws {
      let other = try RawServer { _ in [Self.ok("abc")] }
      let target = other.url("/")
      let server = try RawServer { _ in
        [.text("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n")]
      }
      _ = try await receive("http://name:word@127.0.0.1:\(server.port)/", CurlLoader(), ["Cookie": "own=2"])
      #expect(server.heads[0].contains("\r\nAuthorization: Basic bmFtZTp3b3Jk\r\n"))
      #expect(!other.heads[0].contains("Authorization") && !other.heads[0].contains("own=2"))
    }

    @Test func oddLocationIsFollowed() async throws {
      let locations: [([UInt8], String)] = [
        (Array("/a%20b c.jpg".utf8), "/a%20b%20c.jpg"), (Array("/b".utf8) + [0xEF] + Array("ld".utf8), "/b%EFld"),
        (Array(" ?x=ü ".utf8), "/start?x=%C3%BC"), (Array("end#part".utf8), "/end"),
      ]
      for (location, path) in locations {
        let server = try RawServer { head in
          head.hasPrefix("GET /start HTTP")
            ? [
              .text("HTTP/1.1 307\r\nContent-Length: 0\r\nLocation: "), .send(location), .text("\r\n\r\n"),
            ] : [Self.ok("abc")]
        }
        #expect(try await receive(server.url("/start"), CurlLoader()).bytes == Array("abc".utf8))
        #expect(self.path(server.heads[1]) == path)
      }
    }

    @Test(arguments: ["file:///etc/passwd", "data:,abc", "ftp://127.0.0.1/", "javascript:1", "http:///", "http://%00/"])
    func redirectToAnotherSchemeIsRefused(_ target: String) async throws {
      let server = try RawServer { _ in
        [.text("HTTP/1.1 302 Found\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")]
      }
      await #expect(throws: LoadError.invalidURL(target)) { try await receive(server.url("/"), CurlLoader()) }
      #expect(server.heads.count == 1)
    }

    @Test func redirectsAreLimited() async throws {
      let server = try RawServer { _ in [.text("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")] }
      await #expect(throws: LoadError.tooManyRedirects) {
        try await receive(server.url("/"), CurlLoader(mostRedirects: 4))
      }
      #expect(server.heads.count == 5)
    }

    @Test func bodyOfARedirectIsIgnored() async throws {
      let server = try RawServer { head in
        head.hasPrefix("GET /end ")
          ? [Self.ok("abc")]
          : [.text("HTTP/1.1 302 Found\r\nLocation: /end\r\n\r\n"), .endless(Array(repeating: 7, count: 5000))]
      }
      #expect(try await receive(server.url("/"), CurlLoader()).bytes == Array("abc".utf8))
    }
  }
#endif
