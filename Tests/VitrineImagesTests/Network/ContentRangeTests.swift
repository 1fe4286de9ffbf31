import Testing

@testable import VitrineImages

@Suite struct ContentRangeTests {
  @Test func validContentRangeIsParsed() throws {
    let range = try #require(ContentRange("bytes 5-9/10"))
    #expect(range.first == 5 && range.last == 9 && range.total == 10)
    let open = try #require(ContentRange("Bytes  0-0/*"))
    #expect(open.first == 0 && open.last == 0 && open.total == nil)
  }

  @Test(arguments: [
    "", "bytes", "bytes 5-9", "bytes 5-9/", "bytes 9-5/10", "bytes 5-10/10", "bytes */10", "bytes -9/10",
    "bytes 5-/10",
    "bytes +5-9/10", "bytes 5-9-11/20", "pixels 5-9/10", "bytes 5-9/10 x", "bytes 5-9/99999999999999999999",
    "bytes 99999999999999999999-9/10", "bytes a-b/c", "bytes 5-9/10/11", "bytes ٥-٩/١٠",
  ])
  func malformedContentRangeIsRejected(_ text: String) { #expect(ContentRange(text) == nil) }
}
