import Glibc
import Vitrine

/// A writer, and a reader that follows it, which agree on what every value must be: it says its key and its version, and
/// its bytes follow from the two. Two keys are always written together, so that a snapshot has both or neither.
struct Stress {
  private static let keyCount = 60
  private let store: CacheStore
  private let end: UInt64

  init(_ store: CacheStore, seconds: Double) {
    self.store = store
    end = Stress.now() + UInt64(seconds * 1e9)
  }

  private static func now() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
  }

  private var isOver: Bool { Stress.now() >= end }

  static func value(_ key: Int, _ version: Int, _ count: Int) -> [UInt8] {
    var state = UInt64(truncatingIfNeeded: key &* 7919 &+ version) | 1
    return Array("\(key)/\(version)/".utf8)
      + (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        // Some values gain from compression.
        return version % 3 == 0 ? UInt8(ascii: "a") + UInt8(state >> 62) : UInt8(truncatingIfNeeded: state >> 32)
      }
  }

  private static func value(_ key: Int, _ version: Int) -> [UInt8] {
    value(key, version, version % 11 == 0 ? 12_000 : 40 + version * 37 % 900)
  }

  private func version(_ name: String, key: Int) throws -> Int? {
    guard let bytes = store.bytes(name) else { return nil }
    let parts = bytes.prefix(40).split(separator: UInt8(ascii: "/"), maxSplits: 2)
    guard parts.count >= 2, let version = Int(String(decoding: parts[1], as: UTF8.self)),
      bytes == Stress.value(key, version)
    else { throw Wrong(text: "foreign bytes under \(name): \(String(decoding: bytes.prefix(20), as: UTF8.self))") }
    return version
  }

  private struct Wrong: Error { let text: String }

  // MARK: Writing

  /// Changes until the time is over, or until the process is killed. Versions go on from where they were.
  func write() throws -> String {
    var version = try version("pair/0", key: -1) ?? 0
    while !isOver {
      version += 1
      let key = version &* 2_654_435_761 >> 7 % Stress.keyCount
      switch version % 37 {
      case 0: try store.flush()
      case 1: try store.remove("\(key)")
      case 2: _ = try store.setMetadata([1], for: CacheKey("\(key)"))
      default: try put("\(key)", Stress.value(key, version), synced: version % 50 == 3)
      }
      if version % 700 == 0 { try store.checkpoint() }
      if version % 3000 == 0 { try store.removeAll(prefix: "1") }
      var batch = WriteBatch()
      batch.put(Stress.value(-1, version), for: CacheKey("pair/0"))
      batch.put(Stress.value(-2, version), for: CacheKey("pair/1"))
      do { try store.write(batch) } catch { try makeRoom(error) }
    }
    return "wrote \(version)"
  }

  private func put(_ name: String, _ bytes: [UInt8], synced: Bool) throws {
    do {
      try store.put(bytes, for: name, options: PutOptions(durability: synced ? .synced : .buffered))
    } catch {
      try makeRoom(error)
    }
  }

  private func makeRoom(_ error: StoreError) throws {
    guard error == .noSpace else { throw error }
    // What says how far the writer had come stays.
    try store.removeAll { !$0.key.urlText.hasPrefix("pair/") }
    try store.flush()
  }

  // MARK: Following

  func follow() throws -> String {
    var newest: [String: Int] = [:]
    var (refreshes, reads) = (0, 0)
    // Values held while the segments that they lie in go.
    var blobs: [(blob: Blob, bytes: [UInt8])] = []
    do {
      while !isOver {
        if try store.refresh() { refreshes += 1 }
        for key in 0..<Stress.keyCount {
          guard let version = try version("\(key)", key: key) else { continue }
          reads += 1
          try expectNotOlder("\(key)", version, &newest)
          if blobs.count < 50, let blob = store.blob("\(key)") { blobs.append((blob, Stress.value(key, version))) }
        }
        if blobs.count >= 50, reads % 7 == 0 { try expectWhole(&blobs) }
        let pair = (try version("pair/0", key: -1), try version("pair/1", key: -2))
        if pair.0 != pair.1 { throw Wrong(text: "half of a batch: \(pair)") }
        if let version = pair.0 { try expectNotOlder("pair", version, &newest) }
      }
      try expectWhole(&blobs)
    } catch let wrong as Wrong {
      return "wrong \(wrong.text)"
    }
    let statistics = store.statistics()
    if statistics.damagedCount + statistics.lostCount > 0 { return "wrong entries dropped" }
    return "followed \(refreshes) \(reads) \(newest["pair"] ?? 0)"
  }

  private func expectWhole(_ blobs: inout [(blob: Blob, bytes: [UInt8])]) throws {
    for (blob, bytes) in blobs {
      let isSame = blob.withBytes { $0.withUnsafeBytes { $0.elementsEqual(bytes) } }
      if !isSame || blob.isDamaged {
        throw Wrong(text: "a Blob changed: \(String(decoding: bytes.prefix(20), as: UTF8.self))")
      }
    }
    blobs.removeAll()
  }

  private func expectNotOlder(_ name: String, _ version: Int, _ newest: inout [String: Int]) throws {
    let seen = newest[name] ?? 0
    if version < seen { throw Wrong(text: "\(name) went from version \(seen) back to \(version)") }
    newest[name] = version
  }
}
