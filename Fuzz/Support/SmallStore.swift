@testable import Vitrine
@testable import VitrineSimulation

/// The life of one small store with entries of every kind: the content of its disk at several moments, and all
/// values ever put under each key. The same at each run.
package struct SmallStore {
  package static let path = "/store"
  package static let options = StoreOptions(byteBudget: 1 << 20)

  package struct Moment {
    package let name: String
    package let disk: SimulatedDisk
    /// By path in the store, sorted.
    package let files: [(path: String, bytes: [UInt8])]
  }

  package let moments: [Moment]
  package let identity: StoreIdentity
  /// Every value that a key may return, also from damaged files.
  package let values: [CacheKey: Set<[UInt8]>]
  /// In a fixed order.
  package let keys: [CacheKey]

  package static let shared = always("the small store") { try SmallStore() }

  private init() throws {
    var life = Life()
    try life.live()
    moments = life.moments
    values = life.values
    keys = values.keys.sorted()
    let store = moments[0].files.first { $0.path == CacheFormat.storeFile }?.bytes ?? []
    guard case .valid(let identity) = store.withUnsafeBytes({ StoreIdentity.read($0) }) else {
      refute("the small store has no STORE")
    }
    self.identity = identity
  }

  /// Returns a separate environment with the disk of that moment.
  package func world(_ moment: Int) -> SimulatedWorld {
    SimulatedWorld(seed: 7, disk: moments[moment % moments.count].disk.copy())
  }

  package static func inStore(_ path: String) -> String { "\(Self.path)/\(path)" }

  /// Text, which zstd shrinks.
  package static func text(_ count: Int, _ number: Int = 0) -> [UInt8] {
    let words = Array("a small picture \(number) of nothing at all; ".utf8)
    return (0..<count).map { words[$0 % words.count] }
  }
}

/// Runs the life, and notes the values.
private struct Life {
  private let world = SimulatedWorld(seed: 5, disk: SimulatedDisk(Life.options))
  private(set) var moments: [SmallStore.Moment] = []
  private(set) var values: [CacheKey: Set<[UInt8]>] = [:]

  /// The disk reserves little address space for a mapping, so that ``AddressSpace`` finds a parser that takes much.
  private static var options: SimulatedDisk.Options {
    var options = SimulatedDisk.Options()
    options.mappingByteCount = 1 << 20
    return options
  }

  mutating func live() throws {
    var store = try open()
    let bitmap = BitmapLayout(width: 16, height: 10, format: .rgba8888)!
    let thumb = Style("square-16")!
    try put(store, "removed", RecordedStore.bytes(50, 9))
    try put(store, "plain", RecordedStore.bytes(700, 1))
    try put(store, "twin", RecordedStore.bytes(700, 1))
    try put(store, "text", SmallStore.text(2000))
    try put(store, "empty", [])
    note("begun")
    try put(store, "plain", RecordedStore.bytes(640, 3), thumb, PutOptions(layout: bitmap))
    try put(
      store, "metadata", RecordedStore.bytes(100, 4), .original,
      PutOptions(metadata: Array("content-type: image/png\n".utf8), durability: .synced))
    try store.checkpoint()
    try put(
      store, "expiring", RecordedStore.bytes(90, 5), .original, PutOptions(expirationMilliseconds: 1 << 50))
    try put(
      store, "sliding", SmallStore.text(400, 2), .original, PutOptions(slidingExpirationMilliseconds: 1 << 40))
    try put(
      store, "named", RecordedStore.bytes(80, 6), thumb,
      PutOptions(isPageAligned: true, source: .named(Source([1, 2, 3])!)))
    try put(store, "text", SmallStore.text(1500, 1))
    try store.setMetadata(Array("content-type: text/plain\n".utf8), for: CacheKey("twin"))
    try store.remove("removed")
    note("under way")
    var batch = WriteBatch()
    for number in 0..<6 { add(&batch, "batch/\(number)", RecordedStore.bytes(300 + number, 20 + number)) }
    batch.remove(CacheKey("empty"))
    try store.write(batch, durability: .synced)
    try put(store, "large", RecordedStore.bytes(90_000, 11))
    try put(store, "plain", RecordedStore.bytes(800, 12))
    world.background.runAll()
    note("served")
    try store.removeAll(prefix: "batch/")
    _ = try store.compact()
    note("compacted")
    try store.close()
    note("closed")
    store = try open()
    try put(store, "later", RecordedStore.bytes(500, 13))
    try put(store, "empty", [])
    note("opened again")
    try store.close()
  }

  private func open() throws -> CacheStore {
    try CacheStore.open(at: SmallStore.path, options: SmallStore.options, environment: world.environment)
  }

  private mutating func put(
    _ store: CacheStore, _ url: String, _ bytes: [UInt8], _ style: Style = .original, _ options: PutOptions = .init()
  ) throws {
    let key = CacheKey(url, style)
    values[key, default: []].insert(bytes)
    try store.put(bytes, for: key, options: options)
  }

  private mutating func add(_ batch: inout WriteBatch, _ url: String, _ bytes: [UInt8]) {
    values[CacheKey(url), default: []].insert(bytes)
    batch.put(bytes, for: CacheKey(url))
  }

  private mutating func note(_ name: String) {
    let disk = world.disk.copy()
    disk.foldHistory()
    let prefix = SmallStore.path + "/"
    let files = disk.filePaths.filter { $0.hasPrefix(prefix) }.map {
      (path: String($0.dropFirst(prefix.count)), bytes: disk.contents($0) ?? [])
    }
    moments.append(SmallStore.Moment(name: name, disk: disk, files: files))
  }
}
