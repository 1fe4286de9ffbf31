#if os(Linux)
  import LocalServer
  import Testing

  @testable import VitrineImages

  /// Servers and addresses that a loader may not ask.
  @Suite struct ForbiddenServerTests {
    private func fetch(_ url: String, _ loader: CurlLoader) async throws -> [UInt8] {
      try await HTTPFetcher(loader, .init(attemptCount: 1)).fetch(LoadRequest(url: url)).body ?? []
    }

    private func isForbidden(_ error: any Error) -> Bool {
      if case .forbidden? = error as? LoadError { true } else { false }
    }

    @Test(
      arguments: [
        [0, 0, 0, 0], [10, 1, 2, 3], [100, 64, 0, 1], [100, 127, 255, 255], [127, 0, 0, 1], [127, 255, 255, 255],
        [169, 254, 169, 254], [172, 16, 0, 1], [172, 31, 255, 255], [192, 0, 0, 8], [192, 168, 1, 1], [198, 18, 0, 1],
        [198, 19, 255, 255], [224, 0, 0, 1], [240, 0, 0, 1], [255, 255, 255, 255],
      ] as [[UInt8]])
    func specialIPv4AddressIsNotPublic(_ address: [UInt8]) {
      #expect(!PublicAddress.isPublic(v4: address))
    }

    @Test(
      arguments: [
        [1, 1, 1, 1], [9, 255, 255, 255], [11, 0, 0, 0], [100, 63, 0, 1], [100, 128, 0, 1], [126, 1, 1, 1],
        [128, 0, 0, 1],
        [172, 15, 0, 1], [172, 32, 0, 1], [192, 167, 1, 1], [192, 169, 1, 1], [198, 17, 0, 1], [223, 255, 255, 255],
      ] as [[UInt8]])
    func otherIPv4AddressIsPublic(_ address: [UInt8]) {
      #expect(PublicAddress.isPublic(v4: address))
    }

    private static func v6(_ words: [UInt16]) -> [UInt8] { words.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } }

    @Test func onlyGlobalUnicastIPv6AddressesArePublic() {
      let special: [[UInt16]] = [
        [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0xFFFF, 0x7F00, 1],
        [0, 0, 0, 0, 0, 0xFFFF, 0x0808, 0x0808], [0x64, 0xFF9B, 0, 0, 0, 0, 0x0A00, 1], [0xFC00, 0, 0, 0, 0, 0, 0, 1],
        [0xFD12, 0, 0, 0, 0, 0, 0, 1], [0xFE80, 0, 0, 0, 0, 0, 0, 1], [0xFF02, 0, 0, 0, 0, 0, 0, 1],
        [0x2001, 0, 0, 0, 0, 0, 0, 1], [0x2001, 0xDB8, 0, 0, 0, 0, 0, 1], [0x2002, 0x7F00, 1, 0, 0, 0, 0, 1],
        [0x3FFF, 0, 0, 0, 0, 0, 0, 1],
      ]
      for words in special { #expect(!PublicAddress.isPublic(v6: Self.v6(words)), "\(words)") }
      let others: [[UInt16]] = [
        [0x2606, 0x4700, 0, 0, 0, 0, 0, 1], [0x2001, 0x4860, 0, 0, 0, 0, 0, 1], [0x2A00, 0, 0, 0, 0, 0, 0, 1],
      ]
      for words in others { #expect(PublicAddress.isPublic(v6: Self.v6(words)), "\(words)") }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "0.0.0.0"])
    func privateAddressIsNotConnectedToUnderAnyName(_ host: String) async throws {
      let server = try TestServer { _ in .init(body: [1]) }
      let loader = CurlLoader(allowsPrivateAddresses: false)
      await #expect {
        try await fetch("http://\(host):\(server.port)/a", loader)
      } throws: { isForbidden($0) }
      #expect(server.requests.isEmpty)
    }

    @Test func privateIPv6AddressIsNotConnectedTo() async throws {
      guard let server = try? RawServer(isIPv6: true, { _ in [.close] }) else { return }
      let loader = CurlLoader(allowsPrivateAddresses: false)
      await #expect {
        try await fetch("http://[::1]:\(server.port)/a", loader)
      } throws: { isForbidden($0) }
    }

    @Test func redirectToAServerThatIsNotAllowedIsNotFollowed() async throws {
      let other = try TestServer { _ in .init(body: [2]) }
      let place = other.url("/b")
      let server = try TestServer { request in
        switch request.path {
        case "/far": .status(302, ["Location": place])
        case "/near": .status(302, ["Location": "/a"])
        default: .init(body: [1])
        }
      }
      let loader = CurlLoader(allowedServers: ["127.0.0.1:\(server.port)"])
      #expect(try await fetch(server.url("/near"), loader) == [1])
      await #expect { try await fetch(server.url("/far"), loader) } throws: { isForbidden($0) }
      await #expect { try await fetch(other.url("/b"), loader) } throws: { isForbidden($0) }
      #expect(other.requests.isEmpty)
      #expect(loader.allowedAddress(server.url("/x"))?.server == "127.0.0.1:\(server.port)")
      for url in [other.url("/x"), "data:,a", "file:///etc/passwd", "", "127.0.0.1:\(server.port)", "http://"] {
        #expect(loader.allowedAddress(url) == nil, "\(url)")
      }
      #expect(loader.allowedAddress("http://127.0.0.1:\(server.port)@example.org/") == nil)
      let secure = CurlLoader(allowedServers: ["example.org:443"])
      #expect(secure.allowedAddress("http://example.org/") == nil)
      #expect(secure.allowedAddress("https://EXAMPLE.org./a@b")?.server == "example.org:443")
      let spellings = [
        "https://example.org/a@b?c", "HTTPS://Example.ORG:443/a@b?c#d", " https://example.org./a@b?c#",
        "https:\\\\example.org\\a@b?c",
      ]
      for url in spellings { #expect(secure.allowedAddress(url)?.url == "https://example.org/a@b?c", "\(url)") }
      #expect(CurlLoader(allowedServers: ["a:81"]).allowedAddress("http://a:81")?.url == "http://a:81/")
      for name in ["user@", "user:word@", ":@", "@", "a@b@"] {
        #expect(secure.allowedAddress("https://\(name)example.org/a") == nil, "\(name)")
      }
    }

    @Test func listedServersHaveTheNamesThatURLsHave() throws {
      #expect(CurlLoader.servers("Example.org.") == ["example.org:80", "example.org:443"])
      #expect(CurlLoader.servers("a:8080") == ["a:8080"])
      #expect(CurlLoader.servers("[::1]") == ["[::1]:80", "[::1]:443"])
      #expect(CurlLoader.servers("[::1]:81") == ["[::1]:81"])
      #expect(CurlLoader.servers("b\u{FC}cher.example:80") == ["xn--bcher-kva.example:80"])
      for text in [
        "", ".", ":80", "a:", "a:0", "a:65536", "a:x", "::1", "[::1", "::1]", "a b", "http://a", "*.a", "a,b", "a/",
        "a?b",
        "u@a", "a%41", "a#b", "a\\b",
      ] {
        #expect(CurlLoader.servers(text) == nil, "\(text)")
      }
    }
  }
#endif
