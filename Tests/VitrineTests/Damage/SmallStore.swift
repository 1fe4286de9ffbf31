@testable import Vitrine

/// A small store with entries of every kind, as an image of its disk.
struct SmallStore {
  static let options = StoreOptions(byteBudget: 1 << 20)
  static let layout = BitmapLayout(width: 20, height: 10, format: .bgra8888)!

  /// The allowed value of each key: none, or exactly these bytes.
  static let values: [CacheKey: [UInt8]] = [
    CacheKey("https://example.com/plain"): noise(700, 1),
    CacheKey("https://example.com/twin"): noise(700, 1),
    CacheKey("https://example.com/text"): text(2000),
    CacheKey("https://example.com/bitmap", Style("square-20")!): noise(layout.byteCount, 3),
    CacheKey("https://example.com/metadata"): noise(100, 4),
    CacheKey("empty"): [],
  ]

  /// `clean`: closed before the copy was taken; otherwise the copy is the state after the death of the process.
  static func image(clean: Bool) throws -> MemoryDisk.Image {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store", options)
    try store.put(noise(50, 9), for: "removed")
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      var options = PutOptions()
      if key.urlText.hasSuffix("bitmap") { options.layout = layout }
      if key.urlText.hasSuffix("metadata") {
        options.metadata = text(80)
        options.durability = .synced
      }
      try store.put(value, for: key, options: options)
      if key == CacheKey("https://example.com/metadata") { try store.checkpoint() }
    }
    try store.setMetadata(text(30), for: CacheKey("https://example.com/plain"))
    try store.remove("removed")
    if clean {
      try store.close()
      return disk.image
    }
    let image = disk.image
    try store.close()
    return image
  }
}
