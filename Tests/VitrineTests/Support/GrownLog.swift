@testable import Vitrine

extension CacheStore {
  /// Puts and removes an entry until the files of the log have their largest size, for tests that count what follows.
  func growLog() throws {
    let largest = Sizing.walFileByteCount(budget: byteBudget)
    var round = 0
    while probe.log.files.contains(where: { $0.file.byteCount < largest }), round < 1 << 20 {
      try put([UInt8(truncatingIfNeeded: round)], for: "grows the log")
      round += 1
    }
    try remove("grows the log")
  }
}
