import Foundation
import Testing

@testable import VitrineImages

@Suite struct LoadURLTests {
  private func text(_ url: LoadURL) -> String { String(decoding: url.rest, as: UTF8.self) }

  @Test func spacesAndFragmentOfAURLAreRemoved() {
    for text in [
      "http://a/b", " http://a/b\u{20}", "\u{FEFF}http://a/b\r\n", "\t\u{FEFF} HTTP://a/b#part", "ht\ntp://a\t/b",
    ] {
      let url = LoadURL(text.utf8)
      #expect(url.scheme == "http" && self.text(url) == "//a/b")
    }
    #expect(LoadURL.trimmed("\u{FEFF} http://a/b c \r") == "http://a/b c")
    #expect(LoadURL.trimmed(" \u{FEFF}\t").isEmpty && LoadURL.trimmed("").isEmpty)
  }

  @Test func referenceWithoutASchemeHasNone() {
    for text in ["", "a", "/a:b", "?a:b", "1a:b", "ä:b", ":a"] { #expect(LoadURL(text.utf8).scheme.isEmpty) }
    #expect(LoadURL("x-a+b.1:c".utf8).scheme == "x-a+b.1")
  }

  @Test func encodingKeepsPercentEscapes() {
    #expect(LoadURL.encoded("/a%20b c.jpg".utf8) == "/a%20b%20c.jpg")
    #expect(LoadURL.encoded("/ü|\"<>\0%zz".utf8) == "/%C3%BC%7C%22%3C%3E%00%zz")
    #expect(LoadURL.decoded(Array("%41%zz%4%C3%BC%".utf8)[...]) == Array("A%zz%4ü%".utf8))
  }

  #if os(Linux)
    private func address(_ text: String, base: String? = nil) -> String? {
      WebAddress(LoadURL(text.utf8), base: base.flatMap { WebAddress(LoadURL($0.utf8)) })?.text
    }

    @Test func addressHasTheFormThatServersGet() {
      let expected = [
        "HTTP://127.0.0.1:80/a%20b c.jpg": "http://127.0.0.1:80/a%20b%20c.jpg",
        "https://[::1]:8080/": "https://[::1]:8080/", "http://h?q": "http://h/?q",
        "http://bücher.example/ü": "http://xn--bcher-kva.example/%C3%BC",
        "http://b%C3%BCcher.example:81/": "http://xn--bcher-kva.example:81/",
        "http:\\\\h\\a": "http://h/a", "http://u@x:p w@h/": "http://u%40x:p%20w@h/",
      ]
      for (text, address) in expected { #expect(self.address(text) == address) }
    }

    @Test func aDotAtTheEndOfAHostDoesNotChangeTheServer() throws {
      let address = try #require(WebAddress(LoadURL("https://Example.org.:443/a".utf8)))
      #expect(address.origin == WebAddress(LoadURL("https://example.org/".utf8))?.origin)
      for text in ["http://[::1]\u{0}x/", "http://a\u{FF0F}b/", "http://a\u{FF20}b/"] {
        #expect(self.address(text) == nil || self.address(text)?.contains("@") == false, "\(text)")
      }
      #expect(self.address("http://[::1]\u{0}x/secret") == nil)
    }

    @Test func malformedAddressIsRefused() {
      let texts = [
        "", "a", "//h/a", "http:a", "http:", "http://", "http:///a", "https:///a", "ftp://h/", "javascript:1",
        "http://%00/",
        "http://\0/", "http://a b/", "http://[::1", "http://h:99999/", "http://h:x/", "http://ü%2F/",
      ]
      for text in texts { #expect(address(text) == nil, "\(text)") }
    }

    @Test func redirectIsResolvedAgainstItsOrigin() {
      let base = "http://h:81/a/b?c"
      let expected: [String: String?] = [
        "d e?f": "http://h:81/a/d%20e?f", "/x": "http://h:81/x", "//g/y": "http://g/y", "?z": "http://h:81/a/b?z",
        "": base,
        "#part": base, "../up": "http://h:81/up", "HTTPS://k/": "https://k/", "file:///etc/passwd": nil, "data:,x": nil,
        "http:///a": nil,
      ]
      for (location, address) in expected { #expect(self.address(location, base: base) == address, "\(location)") }
    }
  #endif
}
