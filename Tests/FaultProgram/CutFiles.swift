import Glibc
import Synchronization
import Vitrine

/// Segments are truncated under gets, Blobs and batches of several threads.
struct CutFiles {
  let folder: String
  let reads: ReadMode

  private static let count = 60
  private static let size = 20_000

  func run() throws {
    let store = try CacheStore.open(
      at: folder, options: StoreOptions(byteBudget: 64 << 20, segmentByteCount: 128 << 10, reads: reads))
    for key in 0..<Self.count { try store.put(value(key, Self.size), for: "\(key)") }
    let readers = Readers(store: store, values: (0..<Self.count).map { value($0, Self.size) })
    readers.start(3)
    while readers.hits < 3000 { usleep(1000) }
    // In the middle of the files, at a page: behind it every touch is a fault.
    for file in segmentFiles(store) { cut(file, to: 64 << 10) }
    while store.statistics().damagedCount == 0 { usleep(1000) }
    let before = readers.hits
    while readers.hits < before + 3000 { usleep(1000) }
    readers.stop()
    // Everything behind the cut is a miss by now, and everything before it is present.
    var found = 0
    for key in 0..<Self.count {
      guard let bytes = store.bytes("\(key)") else { continue }
      found += 1
      expect(bytes == value(key, Self.size), "wrong bytes of \(key)")
    }
    expect(found > 0 && found < Self.count, "\(found) of \(Self.count) left")
    expect(store.count == found, "\(store.count) entries, \(found) found")
    expect(store.statistics().damagedCount == Self.count - found, "\(store.statistics().damagedCount) counted")
    // It continues as a cache.
    for key in 0..<Self.count { try store.put(value(1000 + key, Self.size), for: "\(key)") }
    for key in 0..<Self.count { expect(store.bytes("\(key)") == value(1000 + key, Self.size), "no new \(key)") }
    try store.close()
  }
}

/// Threads that read all keys repeatedly, and compare.
private final class Readers: Sendable {
  private let store: CacheStore
  private let values: [[UInt8]]
  private let hitCount = Atomic<Int>(0)
  private let isStopped = Atomic<Bool>(false)
  private let threads = Mutex<[pthread_t]>([])

  init(store: CacheStore, values: [[UInt8]]) {
    self.store = store
    self.values = values
  }

  var hits: Int { hitCount.load(ordering: .relaxed) }

  func start(_ count: Int) {
    for _ in 0..<count {
      var thread = pthread_t()
      let result = pthread_create(
        &thread, nil,
        { context in
          Unmanaged<Readers>.fromOpaque(context!).takeRetainedValue().read()
          return nil
        }, Unmanaged.passRetained(self).toOpaque())
      expect(result == 0, "no thread")
      threads.withLock { $0.append(thread) }
    }
  }

  func stop() {
    isStopped.store(true, ordering: .relaxed)
    for thread in threads.withLock({ $0 }) { pthread_join(thread, nil) }
  }

  private func read() {
    let keys = values.indices.map { CacheKey("\($0)") }
    while !isStopped.load(ordering: .relaxed) {
      for (index, key) in keys.enumerated() {
        if let bytes = store.bytes(key) { count(bytes, index) }
        guard index % 7 == 0, let blob = store.blob(key) else { continue }
        let bytes = blob.withBytes { $0.withUnsafeBytes { Array($0) } }
        // A Blob returns its bytes; only afterwards can it tell that some were undeliverable.
        if bytes != values[index] { expect(blob.isDamaged, "wrong bytes of the blob of \(index)") }
      }
      // A batch cannot revoke a value: its bytes are only touched here.
      var sum = 0
      store.getMany(keys) { _, bytes in
        if let bytes { sum += bytes.withUnsafeBytes { Int($0[0]) + Int($0[$0.count - 1]) } }
      }
      _ = store.lookup(keys[sum % keys.count])
      store.forEachEntry { _ in true }
    }
  }

  private func count(_ bytes: [UInt8], _ index: Int) {
    expect(bytes == values[index], "wrong bytes of \(index)")
    hitCount.wrappingAdd(1, ordering: .relaxed)
  }
}
