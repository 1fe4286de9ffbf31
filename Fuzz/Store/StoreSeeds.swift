import FuzzSupport

@testable import Vitrine

/// The small files of a real store, and files with impossible content.
enum StoreSeeds {
  /// `STORE` from its two copies.
  static func expanded(_ bytes: [UInt8]) -> [UInt8] {
    let first = bytes.prefix(StoreIdentity.byteCount)
    let zeros = [UInt8](repeating: 0, count: StoreIdentity.secondCopy - first.count)
    return first + zeros + bytes.dropFirst(StoreIdentity.byteCount)
  }

  static func all() -> [[UInt8]] {
    let files = SmallStore.shared.moments[4].files
    func file(_ name: String) -> [UInt8] { files.first { $0.path == name }?.bytes ?? [] }
    let store = file(CacheFormat.storeFile)
    let copies = Array(store[..<512] + store[4096..<4608])
    let counters = Array(file(CacheFormat.countersFile).prefix(512))
    let lock = file(CacheFormat.lockFile)
    var seeds: [[UInt8]] = [
      [0] + copies, [1] + copies, [2] + store[..<600], [4] + counters, [5] + counters, [6] + lock,
    ]
    seeds.append([6] + Array("vitrine 99999999999999999999\nsync-failed\n".utf8))
    for field in [8, 32, 232, 240, 248, 256, 272, 280] {
      for value: UInt64 in [0, (1 << 32) - 1, 1 << 63, .max] {
        var hostile = copies
        for copy in [0, 512] { Seal.put(value, &hostile, at: copy + field) }
        seeds.append([1] + hostile)
      }
    }
    for field in stride(from: 8, to: 500, by: 40) {
      var hostile = counters
      Seal.put(.max, &hostile, at: field)
      seeds.append([5] + hostile)
    }
    return seeds + seeds.map { [$0[0] | 8] + $0.dropFirst() }
  }
}
