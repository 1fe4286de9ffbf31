import Glibc
import Vitrine

/// A writer, and a reader that follows it, which agree on every value (``StressValue``). Two keys are always
/// written together, so that a snapshot has one version of both. Only eviction may take one of them alone.
struct Stress {
  private let store: CacheStore
  private let keyCount: Int
  private let end: UInt64

  init(_ store: CacheStore, seconds: Double, keyCount: Int) {
    self.store = store
    self.keyCount = max(1, keyCount)
    end = monotonicNanoseconds() + UInt64(max(0, seconds) * 1e9)
  }

  private var isOver: Bool { monotonicNanoseconds() >= end }

  private struct Wrong: Error { let text: String }

  private func version(_ name: String, key: Int) throws -> Int? {
    let found: Int?? = store.get(name) { $0.withUnsafeBytes { StressValue.version(of: $0, key: key) } }
    guard let found else { return nil }
    guard let version = found else {
      throw Wrong(
        text: "foreign bytes under \(name): \(String(decoding: store.bytes(name)?.prefix(20) ?? [], as: UTF8.self))")
    }
    return version
  }

  // MARK: Writing

  /// Makes changes until the time is over, or until the process is killed. Versions continue from the stored ones.
  /// With more keys than the budget holds, most puts evict.
  func write() throws -> String {
    var version = try version("pair/0", key: -1) ?? 0
    while !isOver {
      version += 1
      let key = (version &* 2_654_435_761) >> 7 % keyCount
      switch version % 37 {
      case 0: try store.flush()
      case 1: try store.remove("\(key)")
      case 2, 3: _ = try store.setMetadata([1], for: CacheKey("\(key)"))
      default:
        let options = PutOptions(durability: version % 50 == 4 ? .synced : .buffered)
        try store.put(StressValue.make(key, version), for: "\(key)", options: options)
      }
      if version % 400 == 0 { _ = try store.compact() }
      if version % 700 == 0 { try store.checkpoint() }
      if version % 3000 == 0 { try store.removeAll(prefix: "1") }
      var batch = WriteBatch()
      batch.put(StressValue.make(-1, version), for: CacheKey("pair/0"))
      batch.put(StressValue.make(-2, version), for: CacheKey("pair/1"))
      try store.write(batch)
    }
    let statistics = store.statistics()
    if statistics.bytesOnDisk > statistics.byteBudget { return "wrong \(statistics.bytesOnDisk) bytes on disk" }
    return "wrote \(version) \(statistics.evictedCount) \(statistics.compaction.recordsMoved)"
  }

  // MARK: Following

  /// Whether one of the pair is missing because the writer evicted it, and not because its bytes are.
  private func mayBeEvicted(_ pair: (Int?, Int?)) -> Bool {
    let statistics = store.statistics()
    return (pair.0 == nil || pair.1 == nil) && statistics.damagedCount == 0 && statistics.lostCount == 0
  }

  /// Refreshes, and reads everything, repeatedly.
  func follow(pauseMilliseconds: Int) throws -> String {
    var newest: [String: Int] = [:]
    var (refreshes, reads) = (0, 0)
    // Values held while their segments are removed.
    var blobs: [HeldBlob] = []
    do {
      while !isOver {
        if try store.refresh() { refreshes += 1 }
        for key in 0..<keyCount {
          guard let version = try version("\(key)", key: key) else { continue }
          reads += 1
          try expectNotOlder("\(key)", version, &newest)
          if blobs.count < 50, reads % 3 == 0, let blob = store.blob("\(key)") {
            blobs.append(HeldBlob(blob: blob, key: key, version: version))
          }
        }
        if blobs.count >= 50, refreshes % 7 == 0 { try expectWhole(&blobs) }
        let pair = (try version("pair/0", key: -1), try version("pair/1", key: -2))
        if pair.0 != pair.1, !mayBeEvicted(pair) { throw Wrong(text: "half of a batch: \(pair)") }
        if let version = pair.0 ?? pair.1 { try expectNotOlder("pair", version, &newest) }
        usleep(UInt32(clamping: pauseMilliseconds * 1000))
      }
      try expectWhole(&blobs)
    } catch let wrong as Wrong {
      return "wrong \(wrong.text)"
    }
    let statistics = store.statistics()
    if statistics.damagedCount + statistics.lostCount > 0 {
      return "wrong \(statistics.damagedCount) entries dropped as damaged, \(statistics.lostCount) as lost"
    }
    return "followed \(refreshes) \(reads) \(newest["pair"] ?? 0)"
  }

  private func expectWhole(_ blobs: inout [HeldBlob]) throws {
    for blob in blobs where !blob.isWhole { throw Wrong(text: "a Blob of \(blob.key) changed") }
    blobs.removeAll()
  }

  private func expectNotOlder(_ name: String, _ version: Int, _ newest: inout [String: Int]) throws {
    let seen = newest[name] ?? 0
    if version < seen { throw Wrong(text: "\(name) went from version \(seen) back to \(version)") }
    newest[name] = version
  }
}

/// A held value, and the bytes that it must keep.
struct HeldBlob {
  let blob: Blob
  let key: Int
  let version: Int

  var isWhole: Bool {
    let found = blob.withBytes { $0.withUnsafeBytes { StressValue.version(of: $0, key: key) } }
    return found == version && !blob.isDamaged
  }
}

func monotonicNanoseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
