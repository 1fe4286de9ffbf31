import Foundation
import Testing

@testable import Vitrine

/// Writes the golden stores of the present format: `scripts/golden` runs it and packs the result. Each is a folder
/// with its store and the list of its expected values.
///
/// Small on purpose: almost none of it is noise, so an archive takes a few kilobytes.
final class GoldenWriter {
  private let folder: String
  private let world = TestWorld(seed: 20)
  private var options = StoreOptions(byteBudget: 8 << 20, segmentByteCount: 64 << 10)
  private var store: CacheStore
  /// The expected values, by key.
  private var entries: [CacheKey: GoldenEntry] = [:]

  private static let square = Style("square-60@2x")!
  private static let row = Style("row")!
  private static let layout = BitmapLayout(width: 20, height: 10, bytesPerRow: 96, format: .bgra8888)!
  private static let large = BitmapLayout(width: 1000, height: 300, format: .rgba8888)!
  private static let farAway: Int64 = 4_000_000_000_000

  init(folder: String) throws {
    self.folder = folder
    options.compressionLevel = 0
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    store = try world.open(folder + "/store", options)
  }

  func run() throws {
    try putEntriesThatCompactionMoves()
    try store.close()
    options.compressionLevel = 1
    store = try world.open(folder + "/store", options)
    try putEveryKind()
    try store.close()
    try keep("clean", store.path)
    store = try world.open(folder + "/store", options)
    try changeMuch(1)
    try die()
    try changeMuch(2)
    for (name, damage) in [("killed", { (_: String) in }), ("torn", tear), ("rebuilt", damageCheckpoints)] {
      let dead = "\(folder)/\(name)-made"
      try Files.copyFolder(store.path, to: dead)
      try damage(dead)
      try keep(name, dead)
    }
    try store.close()
  }

  /// Opens the store after a death of its process, and leaves it to a second death.
  private func die() throws {
    let path = folder + "/second"
    try Files.copyFolder(store.path, to: path)
    try store.close()
    store = try world.open(path, options)
  }

  /// A synced value was not yet written to its place; its frame has it.
  private func tear(_ path: String) throws {
    let value = Data(try #require(entries[CacheKey("late/2")]).bytes)
    for name in try Files.below(path + "/segments") {
      var bytes = Data(try Files.read("\(path)/segments/\(name)"))
      guard let range = bytes.range(of: value) else { continue }
      bytes.replaceSubrange(range, with: Data(count: value.count))
      return try Files.write(Array(bytes), to: "\(path)/segments/\(name)")
    }
    Issue.record("the value to tear lies in no segment")
  }

  private func damageCheckpoints(_ path: String) throws {
    for index in 0..<2 {
      try Files.write([UInt8](repeating: 0x55, count: 8192), to: "\(path)/checkpoints/\(index).checkpoint")
    }
  }

  private func keep(_ name: String, _ path: String) throws {
    let reader = try world.openReadOnly(path)
    var lines = ["# Format \(CacheFormat.version): what the store \(name).tar.gz must give."]
    for entry in entries.values.sorted(by: { $0.key < $1.key }) { lines.append(entry.completed(by: reader).line) }
    try reader.close()
    try Files.write(Array((lines.joined(separator: "\n") + "\n").utf8), to: "\(folder)/\(name).entries")
    try Files.copyFolder(path, to: "\(folder)/\(name)/store")
  }

  // MARK: Entries

  private func put(
    _ entry: GoldenEntry, source: SourceOption = .none, isPageAligned: Bool = false, durability: Durability = .buffered
  ) throws {
    world.clock.advance(1)
    try store.put(entry.bytes, for: entry.key, options: options(entry, source, isPageAligned, durability))
    entries[entry.key] = entry
  }

  private func options(
    _ entry: GoldenEntry, _ source: SourceOption = .none, _ isPageAligned: Bool = false,
    _ durability: Durability = .buffered
  ) -> PutOptions {
    var options = PutOptions()
    options.metadata = entry.metadata
    options.expirationMilliseconds = entry.expiration
    options.slidingExpirationMilliseconds = entry.sliding
    options.layout = entry.layout
    options.source = source
    options.isPageAligned = isPageAligned
    options.durability = durability
    return options
  }

  private func remove(_ key: CacheKey, durability: Durability = .buffered) throws {
    try store.remove(key, durability: durability)
    entries[key] = .gone(key.urlText, key.style)
  }

  /// Entries among removed ones: compaction copies them.
  private func putEntriesThatCompactionMoves() throws {
    for index in 0..<100 {
      try put(GoldenEntry("moved/\(index)", .original, .text, 2000, index))
      var bitmap = GoldenEntry("moved/\(index)", Self.row, .rows, Self.layout.byteCount, index)
      bitmap.layout = Self.layout
      try put(bitmap)
    }
    try put(GoldenEntry("moved/twin", .original, .text, 2000, 0))
    for index in 0..<100 where index % 15 != 0 { _ = try store.removeAllStyles("moved/\(index)") }
    for key in entries.keys where store.lookup(key) == .missing { entries[key] = nil }
    entries[CacheKey("moved/1")] = .gone("moved/1")
    _ = try store.compact()
  }

  private func putEveryKind() throws {
    try put(GoldenEntry("plain", .original, .noise, 700, 1))
    try put(GoldenEntry("twin", .original, .noise, 700, 1))
    try put(GoldenEntry("text", .original, .text, 3000, 2), durability: .synced)
    try put(GoldenEntry("empty"))
    try put(GoldenEntry("", .original, .noise, 10, 3))
    var entry = GoldenEntry("metadata", .original, .noise, 100, 4)
    entry.metadata = text(80)
    try put(entry, durability: .synced)
    entry = GoldenEntry("expiring", .original, .text, 500, 5)
    entry.expiration = Self.farAway
    try put(entry)
    entry = GoldenEntry("sliding", .original, .text, 600, 6)
    entry.sliding = 3_000_000_000_000
    try put(entry)
    entry = GoldenEntry("expired", .original, .text, 700, 7)
    entry.expiration = world.clock.wallMilliseconds() + 1000
    try put(entry)
    entries[entry.key] = .gone("expired")
    try put(GoldenEntry("named", Self.square, .noise, 50, 8), source: .named(Source([1, 2, 3])!))
    try put(GoldenEntry("photo", .original, .noise, 400, 9))
    try put(GoldenEntry("photo", Self.square, .noise, 90, 10), source: .automatic)
    try put(GoldenEntry("replaced", .original, .noise, 300, 11))
    try put(GoldenEntry("replaced", Self.square, .noise, 80, 12), source: .automatic)
    try put(GoldenEntry("replaced", .original, .noise, 310, 13))
    entries[CacheKey("replaced", Self.square)] = .gone("replaced", Self.square)
    try putBitmaps()
    try putBodies()
    try put(GoldenEntry("removed", .original, .text, 800, 14))
    try remove(CacheKey("removed"))
    try batch(1, synced: false)
  }

  private func putBitmaps() throws {
    var entry = GoldenEntry("bitmap", Self.row, .noise, Self.layout.byteCount, 15)
    entry.layout = Self.layout
    try put(entry)
    entry = GoldenEntry("aligned", Self.row, .rows, 64 * 40, 16)
    entry.layout = BitmapLayout(width: 16, height: 40, format: .rgba8888)
    try put(entry, isPageAligned: true)
    entry = GoldenEntry("drawn", Self.row, .rows, 128 * 30, 17)
    entry.layout = BitmapLayout(width: 32, height: 30, format: .rgba8888)
    let bytes = entry.bytes
    _ = try store.draw(entry.key, layout: entry.layout!, options: options(entry, .none, true)) { memory, _ in
      memory.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }
    entries[entry.key] = entry
    // Larger than a segment, and with checksums of its pieces.
    entry = GoldenEntry("large", Self.row, .rows, Self.large.byteCount, 18)
    entry.layout = Self.large
    try put(entry)
  }

  private func putBodies() throws {
    for isLengthKnown in [true, false] {
      let entry = GoldenEntry("body/\(isLengthKnown)", .original, .text, 70_000, isLengthKnown ? 19 : 20)
      let writer = try store.writer(
        for: entry.key, length: isLengthKnown ? entry.count : nil, options: options(entry))
      for start in stride(from: 0, to: entry.count, by: 30_000) {
        try writer.write(Array(entry.bytes[start..<min(start + 30_000, entry.count)]))
      }
      try writer.commit()
      entries[entry.key] = entry
    }
  }

  private func batch(_ number: Int, synced: Bool) throws {
    var batch = WriteBatch()
    try put(GoldenEntry("batch/\(number)/old", .original, .text, 300, number))
    for index in 0..<3 {
      let entry = GoldenEntry("batch/\(number)/\(index)", .original, .noise, 120, 100 * number + index)
      batch.put(entry.bytes, for: entry.key, options: options(entry))
      entries[entry.key] = entry
    }
    batch.remove(CacheKey("batch/\(number)/old"))
    try store.write(batch, durability: synced ? .synced : .buffered)
    entries[CacheKey("batch/\(number)/old")] = .gone("batch/\(number)/old")
  }

  /// Changes that are in the log, after the newest checkpoint.
  private func changeMuch(_ number: Int) throws {
    try put(GoldenEntry("late/\(number)", .original, .noise, 250, 30 + number), durability: .synced)
    try put(GoldenEntry("late/text/\(number)", .original, .text, 900, 40 + number))
    var entry = GoldenEntry("late/bitmap/\(number)", Self.row, .rows, Self.layout.byteCount, 50 + number)
    entry.layout = Self.layout
    try put(entry, durability: .synced)
    // Over entries of the checkpoint.
    try put(GoldenEntry("moved/\(15 * number)", .original, .noise, 60, 60 + number))
    entry = try #require(entries[CacheKey("plain")])
    entry.metadata = text(20 + number)
    try store.setMetadata(entry.metadata, for: entry.key)
    entries[entry.key] = entry
    entry = try #require(entries[CacheKey("photo", Self.square)])
    entry.expiration = Self.farAway + Int64(number)
    try store.setExpiration(entry.expiration, for: entry.key, durability: .synced)
    entries[entry.key] = entry
    try remove(CacheKey("body/\(number == 1)"), durability: number == 1 ? .synced : .buffered)
    try batch(10 + number, synced: number == 2)
  }
}
