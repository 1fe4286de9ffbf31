import Vitrine

extension CrashWorkload {
  /// Frames with such a long name or such long metadata do not fit into the rest of most log files.
  static let extremes = CrashWorkload(
    "extremes", summary: "empty and longest names, longest metadata, page-aligned bitmaps; synced by default",
    options: StoreOptions(byteBudget: 12 << 20, durability: .synced, segmentByteCount: 256 << 10, policy: .fifo)
  ) { store, numbers in
    let names = ["", "short", String(repeating: "/long", count: 13_107)]
    try store.put(CacheKey(""), [], options: PutOptions())
    for number in 0..<7 {
      let name = names[numbers.below(3)]
      var options = PutOptions()
      if numbers.chance(40) { options.durability = .buffered }
      switch numbers.below(6) {
      case 0:
        try store.setMetadata(
          name, RecordedStore.bytes(numbers.chance(50) ? 65_536 : numbers.below(60_000), 30 + number),
          synced: numbers.chance(50))
      case 1: try store.remove(name, synced: numbers.chance(50))
      case 2:
        options.layout = BitmapLayout(width: 16, height: 1 + numbers.below(200), format: .bgra8888)
        options.isPageAligned = true
        let byteCount = options.layout?.byteCount ?? 0
        try store.put(CacheKey(name), RecordedStore.bytes(byteCount, number), options: options)
      default:
        options.metadata = RecordedStore.bytes(numbers.chance(20) ? 65_536 : numbers.below(300), 60 + number)
        let bytes = numbers.bytes(numbers.size(), number)
        try store.put(CacheKey(name), bytes, options: options)
      }
      if numbers.chance(20) { store.upkeep() }
    }
    if numbers.chance(30) { try store.compact() }
  }
}
