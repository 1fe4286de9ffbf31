import Testing

@testable import Vitrine

/// Reflection stops at the public types. Otherwise, the report of one failed expectation would describe the whole
/// engine.
@Suite struct StoreMirrorTests {
  private func names(_ subject: Any) -> [String] { Mirror(reflecting: subject).children.compactMap(\.label) }

  @Test func mirrorsShowNoEngine() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    try store.put([1, 2, 3], for: "a")
    #expect(names(store) == ["path"])
    let blob = try #require(store.blob("a"))
    #expect(names(blob) == ["byteCount", "encoding", "layout", "metadata"])
    let writer = try store.writer(for: "b", length: 5)
    #expect(names(writer) == ["length"])
    var text = ""
    dump(store, to: &text)
    dump(blob, to: &text)
    dump(writer, to: &text)
    #expect(text.utf8.count < 1000 && text.contains("byteCount: 3") && text.contains("5"))
    writer.abandon()
    try store.close()
  }
}
