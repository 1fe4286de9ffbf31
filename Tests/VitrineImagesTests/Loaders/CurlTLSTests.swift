#if os(Linux)
  import Foundation
  import LocalServer
  import Testing

  @testable import VitrineImages

  /// Certificates. `openssl` makes the authority and serves, so without it the tests are skipped.
  @Suite(.enabled(if: TLSServer.isThere)) struct CurlTLSTests {
    private func fetch(_ url: String, _ loader: CurlLoader) async throws -> [UInt8]? {
      try await HTTPFetcher(loader, .init(attemptCount: 3, pauseMilliseconds: 1)).fetch(LoadRequest(url: url)).body
    }

    private func isUntrusted(_ error: any Error) -> Bool {
      if case .untrusted? = error as? LoadError { true } else { false }
    }

    @Test func certificateOfAKnownAuthorityIsAccepted() async throws {
      let server = try TLSServer(body: "abc")
      let loader = CurlLoader(authorityFile: server.authorityFile)
      #expect(try await fetch(server.url("/body"), loader) == Array("abc".utf8))
      #expect(try await fetch(server.url("/body", host: "127.0.0.1"), loader) == Array("abc".utf8))
    }

    @Test func untrustedCertificateIsAPermanentError() async throws {
      let server = try TLSServer(body: "abc")
      for loader in [CurlLoader(), CurlLoader(authorityFile: server.folder.path + "/none")] {
        let fetcher = HTTPFetcher(loader, .init(attemptCount: 3, pauseMilliseconds: 1))
        await #expect {
          try await fetcher.fetch(LoadRequest(url: server.url("/body")))
        } throws: {
          isUntrusted($0)
        }
        await #expect {
          try await fetcher.fetch(LoadRequest(url: server.url("/body")))
        } throws: { error in
          if case .failedBefore(_, isTransient: false)? = error as? LoadError { true } else { false }
        }
      }
    }

    @Test func certificateOfAnotherHostIsRefused() async throws {
      let server = try TLSServer(body: "abc", names: "DNS:localhost")
      let loader = CurlLoader(authorityFile: server.authorityFile)
      #expect(try await fetch(server.url("/body"), loader) == Array("abc".utf8))
      await #expect {
        try await fetch(server.url("/body", host: "127.0.0.1"), loader)
      } throws: {
        isUntrusted($0)
      }
    }

    @Test func pinnedKeyIsCompared() async throws {
      let server = try TLSServer(body: "abc")
      func loader(_ keys: [String]) -> CurlLoader {
        CurlLoader(authorityFile: server.authorityFile, pinnedPublicKeys: ["localhost": keys])
      }
      let other = Data(repeating: 7, count: 32).base64EncodedString()
      for keys in [[server.keyDigest], [other, "sha256//" + server.keyDigest]] {
        #expect(try await fetch(server.url("/body"), loader(keys)) == Array("abc".utf8))
      }
      for keys in [[], [other], ["what"], [""], [server.folder.path + "/public.pem"]] {
        await #expect {
          try await fetch(server.url("/body"), loader(keys))
        } throws: {
          isUntrusted($0)
        }
      }
      // Capitals name the same host.
      await #expect {
        try await fetch(server.url("/body", host: "LocalHost"), loader([other]))
      } throws: {
        isUntrusted($0)
      }
      // A host without pins is not concerned.
      #expect(try await fetch(server.url("/body", host: "127.0.0.1"), loader([other])) == Array("abc".utf8))
    }

    @Test func pinnedHostIsNotLoadedWithoutTLS() async throws {
      let server = try RawServer { _ in [.text("HTTP/1.1 302 Found\r\nLocation: http://localhost/\r\n\r\n"), .close] }
      let loader = CurlLoader(pinnedPublicKeys: ["localhost": ["x"]])
      for url in ["http://localhost:\(server.port)/", server.url("/")] {
        await #expect {
          try await fetch(url, loader)
        } throws: {
          isUntrusted($0)
        }
      }
      #expect(server.heads.count == 1)
    }

    @Test func plainServerBehindHTTPSIsAnError() async throws {
      let server = try RawServer { _ in [.text("HTTP/1.1 200 OK\r\n\r\n"), .close] }
      await #expect(throws: LoadError.self) {
        try await fetch("https://127.0.0.1:\(server.port)/", CurlLoader(timeoutSeconds: 1))
      }
    }
  }
#endif
