import CacheCtlKit
import Testing

@Suite struct ContentTypeTests {
  @Test func firstBytesOverrideTheName() {
    #expect(ContentType.of(name: Array("a.png".utf8), bytes: [0xFF, 0xD8, 0xFF, 0xE0]) == "image/jpeg")
    #expect(ContentType.of(name: Array("a".utf8), bytes: Array("RIFF....WEBPVP8 ".utf8)) == "image/webp")
    #expect(
      ContentType.of(name: Array("a".utf8), bytes: [0, 0, 0, 28] + Array("ftypavif".utf8)) == "image/avif")
  }

  @Test func nameDecidesIfTheBytesAreUnknown() {
    #expect(ContentType.of(name: Array("A.JPEG".utf8), bytes: []) == "image/jpeg")
    #expect(ContentType.of(name: Array("notes.txt".utf8), bytes: Array("hello".utf8)) == nil)
    #expect(ContentType.of(name: [0x2E, 0xFF], bytes: []) == nil)
  }
}

@Suite struct EntryMetadataTests {
  @Test func aContentTypeIsOneLine() {
    #expect(EntryMetadata.bytes(contentType: "image/jpeg") == Array("content-type: image/jpeg\n".utf8))
    #expect(EntryMetadata.bytes(contentType: nil) == [])
  }

  @Test func contentTypeIsReadOnlyFromItsOwnLine() {
    #expect(EntryMetadata.contentType(in: Array("etag: x\ncontent-type: a/b\n".utf8)) == "a/b")
    #expect(EntryMetadata.contentType(in: Array("x-content-type: a/b\n".utf8)) == nil)
    #expect(EntryMetadata.contentType(in: [0xFF, 0x00]) == nil)
  }
}
