import Testing

@testable import Vitrine

/// The flush of a key looks at the whole key, not only at its hash.
@Suite struct CollidingFlushTests {
  @Test func anEntryWithAnEqualHashIsNotFlushed() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    let (there, absent) = try StylesWithOneTag.keys("a")
    #expect(store.probe.hash(of: there).stored == store.probe.hash(of: absent).stored)
    try store.put(noise(300), for: there)
    #expect(try !store.flush(absent) && store.flush(there))
    try store.close()
  }
}

/// A put under a condition looks at the whole key, not only at its hash.
@Suite struct CollidingConditionTests {
  @Test func anEntryWithAnEqualHashIsNoEntryOfTheKey() throws {
    let store = try TestWorld(fileSystem: MemoryDisk()).open("store")
    let (there, absent) = try StylesWithOneTag.keys("a")
    try store.put(noise(300), for: there)
    #expect(try !store.put(noise(400), for: absent, if: .present))
    #expect(try store.put(noise(500), for: absent, if: .absent))
    #expect(store.bytes(there) == noise(300) && store.bytes(absent) == noise(500))
    try store.close()
  }
}

private enum StylesWithOneTag {
  private struct Missing: Error {}

  /// Two keys of a URL whose styles have equal lengths and one tag.
  static func keys(_ url: String) throws -> (CacheKey, CacheKey) {
    var known: [UInt16: Style] = [:]
    for number in 10_000..<99_999 {
      let style = try #require(Style("style-\(number)"))
      if let other = known.updateValue(style, forKey: style.tag) { return (CacheKey(url, other), CacheKey(url, style)) }
    }
    throw Missing()
  }
}
