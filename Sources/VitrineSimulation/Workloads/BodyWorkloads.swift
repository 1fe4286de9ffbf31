import Vitrine

/// Workloads of values that arrive in pieces.
enum BodyWorkloads {
  /// Segments in which a body above 64 KiB fits beside others. An eighth of the budget, the limit for unfinished
  /// bodies, holds the largest one beside the segment that the stalled one keeps.
  private static var roomy: StoreOptions { StoreOptions(byteBudget: 6 << 20, segmentByteCount: 256 << 10) }

  static let bodies = CrashWorkload(
    "bodies", summary: "bodies in pieces, of known and unknown length, that finish, break off and stall", options: roomy
  ) { store, numbers in
    try store.put("k0", RecordedStore.bytes(700, 1), synced: true)
    let stalled = try store.writer("k1", length: numbers.chance(50) ? 90_000 : nil)
    let begun = RecordedStore.bytes(30_000 + numbers.below(50_000), 2)
    try? store.evicting { try stalled.write(begun) }
    for number in 0..<4 {
      let name = "k\(numbers.below(3))"
      // Gathered in memory; in a segment with others; in a segment alone.
      let size = [numbers.below(3000), 30_000 + numbers.below(100_000), 270_000 + numbers.below(50_000)]
      let bytes = RecordedStore.bytes(size[[0, 1, 1, 2][numbers.below(4)]], number)
      switch numbers.below(4) {
      case 0:
        let broken = try store.writer(name, length: numbers.chance(50) ? bytes.count + 1 : nil)
        // A disk that refuses a segment costs entries.
        try? store.evicting { try broken.write(bytes) }
        broken.abandon()
      case 1: try store.put(name, RecordedStore.bytes(numbers.below(3000), 20 + number), synced: numbers.chance(50))
      default:
        try store.write(
          name, bytes, isLengthKnown: numbers.chance(50), pieces: 7000 + numbers.below(60_000),
          synced: numbers.chance(50))
      }
      if numbers.chance(20) { try store.checkpoint() }
    }
    let removed = try store.writer("k0", length: numbers.chance(50) ? 70_000 : nil)
    try? store.evicting { try removed.write(RecordedStore.bytes(70_000, 30)) }
    let isSynced = numbers.chance(50)
    switch numbers.below(5) {
    case 0: try store.remove("k0", synced: isSynced)
    case 1: try store.removeMany(["k1", "k0"], synced: isSynced)
    case 2: try store.removeAllStyles("k0", synced: isSynced)
    case 3: try store.removeAll(prefix: "k", synced: isSynced)
    default: try store.removeAll(synced: isSynced) { $0.urlText == "k0" }
    }
    try store.commitRemoved(removed)
    try store.write("k0", RecordedStore.bytes(300, 31), isLengthKnown: true, synced: numbers.chance(50))
    withExtendedLifetime(stalled) {}
  }

  static let drawings = CrashWorkload(
    "drawings", summary: "bitmaps drawn in the store's memory, with other changes in the middle, and some broken off"
  ) { store, numbers in
    try store.put("k0", RecordedStore.bytes(640, 1), synced: true)
    if numbers.chance(40) {
      // With copied reads, the drawing uses memory of its own, and is written to the file.
      store.options.reads = .copied
      try store.reopen()
    }
    for number in 0..<5 {
      let rows = 1 + numbers.below(numbers.chance(20) ? 1200 : 90)
      if numbers.chance(25) { try store.breakOffDrawing("k\(numbers.below(3))", rows: rows) }
      let (nests, synced) = (numbers.chance(40), numbers.chance(50))
      try store.draw("k\(numbers.below(3))", RecordedStore.bytes(64 * rows, 10 + number), synced: synced) {
        if nests {
          try store.put("nested", RecordedStore.bytes(300 + number, 50 + number), synced: synced)
          if synced { try store.checkpoint() }
        }
      }
      if numbers.chance(20) { store.upkeep() }
    }
  }
}
