import Testing
import Vitrine

@testable import CacheCtlKit

@Suite struct JSONTests {
  @Test func lineEscapesControlCharacters() {
    let value = JSON.object([
      ("a\n", .string("q\"\\\u{1}\u{7F}\tü")), ("b", .array([.int(1), .null, .bool(true)])),
    ])
    #expect(value.line == #"{"a\n": "q\"\\\u0001\u007f\tü", "b": [1, null, true]}"#)
  }

  @Test func numbersOutsideJSONAreNull() {
    #expect(JSON.double(.nan).line == "null")
    #expect(JSON.double(.infinity).line == "null")
    #expect(JSON.rounded(3.14159, places: 2).line == "3.14")
  }

  @Test func documentBreaksLongValuesAndKeepsShortOnes() {
    let row = JSON.object([("file", .string("0001.seg")), ("bytes", .int(65_536))])
    let document = JSON.object([("ok", .bool(true)), ("segments", .array([row, row, row]))]).document
    #expect(
      document == """
        {
          "ok": true,
          "segments": [
            {"file": "0001.seg", "bytes": 65536},
            {"file": "0001.seg", "bytes": 65536},
            {"file": "0001.seg", "bytes": 65536}
          ]
        }

        """)
    #expect(JSON.object([]).document == "{}\n")
  }

  @Test func nonTextURLAlsoHasItsBytes() {
    #expect(JSON.object(JSON.members(url: Array("a".utf8))).line == #"{"url": "a"}"#)
    #expect(
      JSON.object(JSON.members(url: [0x61, 0xFF])).line == #"{"url": "a\#u{FFFD}", "url_base64": "Yf8="}"#)
    #expect(JSON.object(JSON.members(key: nil)).line == #"{"url": null, "style": null}"#)
  }

  @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")])
  func base64MatchesTheStandard(_ text: String, _ expected: String) {
    #expect(JSON.base64(Array(text.utf8)) == expected)
  }
}
