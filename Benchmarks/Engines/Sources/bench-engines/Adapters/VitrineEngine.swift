import Vitrine

/// Vitrine with its defaults: buffered puts, mapped reads, a check at the first read, zstd level 1 where it gains.
final class VitrineEngine: Engine, RetainingSession {
  private static let style = Style(KeyText.style)!

  private let store: CacheStore
  private let buffered: PutOptions
  private let synced: PutOptions

  init(_ folder: String, _ plan: StorePlan) throws {
    // Enough that nothing is evicted: see the README of the package.
    let ample = max(8 << 30, plan.payloadByteCount * 3 / 2 + 1024 * plan.entryCount)
    let options = StoreOptions(byteBudget: plan.byteBudget ?? ample, durability: .buffered)
    store = try CacheStore.open(at: folder, options: options)
    let layout =
      plan.isBitmap ? BitmapLayout(width: 100, height: 100, bytesPerRow: 400, format: .bgra8888) : nil
    buffered = PutOptions(layout: layout)
    synced = PutOptions(durability: .synced, layout: layout)
  }

  func session() -> any EngineSession { self }

  func close() throws { try store.close() }

  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try store.put(value.bytes, for: prepare(key), options: buffered)
  }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws {
    try store.put(value.bytes, for: prepare(key), options: synced)
  }

  func putBatch(_ entries: [Entry], synced: Bool) throws {
    var batch = WriteBatch()
    for entry in entries { batch.put(Array(entry.value), for: prepare(entry.key), options: buffered) }
    try store.write(batch, durability: synced ? .synced : .buffered)
  }

  func withValue(_ key: Key, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    store.get(key.url.bytes, style: VitrineEngine.style) { bytes in bytes.withUnsafeBytes(body) } != nil
  }

  func touch(_ key: Key) -> UInt64? {
    store.get(key.url.bytes, style: VitrineEngine.style) { bytes in bytes.withUnsafeBytes(Words.touch) }
  }

  func consume(_ key: Key) -> UInt64? {
    store.get(key.url.bytes, style: VitrineEngine.style) { bytes in bytes.withUnsafeBytes(Words.consume) }
  }

  func contains(_ key: Key) -> Bool { store.contains(prepare(key)) }

  func remove(_ key: Key) throws -> Bool { try store.remove(prepare(key)) }

  func prepare(_ key: Key) -> CacheKey { CacheKey(bytes: Array(key.url), VitrineEngine.style) }

  func touchMany(_ keys: [CacheKey]) -> Int {
    var found = 0
    var sum: UInt64 = 0
    store.getMany(keys) { _, bytes in
      guard let bytes else { return }
      found += 1
      sum ^= bytes.withUnsafeBytes(Words.touch)
    }
    Words.keep(sum)
    return found
  }

  func touchRetained(_ key: CacheKey) -> UInt64? {
    store.blob(key).map { $0.withBytes { $0.withUnsafeBytes(Words.touch) } }
  }
}
