import Vitrine

/// Workloads of single entries and their keys.
enum EntryWorkloads {
  static let making = CrashWorkload(
    "making", summary: "a store is made, and gets its first entries", includesMaking: true
  ) { store, numbers in
    for number in 0..<1 + numbers.below(3) {
      try store.put("k\(number)", RecordedStore.bytes(numbers.size(), number), synced: numbers.chance(50))
    }
    if numbers.chance(50) { try store.close() }
  }

  static let puts = CrashWorkload(
    "puts", summary: "entries of all sizes and encodings, buffered and synced, and overwritten"
  ) { store, numbers in
    for number in 0..<10 {
      let size = numbers.size()
      let bytes = numbers.bytes(size, number)
      if let layout = BitmapLayout(width: 4, height: size / 16 + 1, format: .rgba8888), numbers.chance(20) {
        try store.put(
          CacheKey("k\(numbers.below(4))"), RecordedStore.bytes(layout.byteCount, number),
          options: PutOptions(durability: numbers.chance(40) ? .synced : .buffered, layout: layout))
      } else {
        try store.put("k\(numbers.below(4))", bytes, synced: numbers.chance(40))
      }
      if numbers.chance(12) { store.upkeep() }
      if numbers.chance(8) { try store.flush() }
    }
  }

  /// Frames with such a long name or so many metadata do not fit into the rest of most log files.
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

  static let sharing = CrashWorkload(
    "sharing", summary: "equal bytes under several keys, the keys coming and going"
  ) { store, numbers in
    // Sometimes compressible, or larger than a segment.
    let shared = (0..<2).map {
      numbers.bytes(200 + numbers.below(9000) + (numbers.chance(8) ? 70_000 : 0), 100 + $0)
    }
    let bitmap = BitmapLayout(width: 8, height: 40, format: .rgba8888)
    for number in 0..<12 {
      let name = "k\(numbers.below(5))"
      switch numbers.below(5) {
      case 4:
        // A bitmap shares only the payload of an equal bitmap, and if it is page-aligned, only a page-aligned payload.
        var options = PutOptions(durability: numbers.chance(40) ? .synced : .buffered, layout: bitmap)
        options.isPageAligned = numbers.chance(40)
        try store.put(CacheKey(name), RecordedStore.bytes(8 * 40 * 4, 7), options: options)
      case 0: try store.remove(name, synced: numbers.chance(50))
      case 1: try store.put(name, RecordedStore.bytes(50 + numbers.below(500), number), synced: numbers.chance(30))
      default: try store.put(name, shared[numbers.below(2)], synced: numbers.chance(40))
      }
      if numbers.chance(10) { store.upkeep() }
      if numbers.chance(10) { try store.flush() }
    }
  }

  static let removals = CrashWorkload(
    "removals", summary: "removals of keys, of a URL, a style or a prefix, by a predicate, of all but a set, and of all"
  ) { store, numbers in
    for number in 0..<8 {
      let name = numbers.chance(50) ? "a/\(number)" : "b/\(number)"
      try store.put(name, RecordedStore.bytes(numbers.size() / 3, number), synced: numbers.chance(30))
    }
    // Two styles with one tag: the index alone cannot tell them apart.
    let small = Style("square-63") ?? .original
    for style in [small, Style("square-320") ?? .original] {
      for name in ["a/0", "b/1"] {
        try store.put(name, RecordedStore.bytes(numbers.size() / 4, 60), style: style, synced: numbers.chance(50))
      }
    }
    for name in ["a/2", "b/2"] { store.hold(name) }
    try store.remove("a/\(numbers.below(8))", synced: numbers.chance(50))
    // The narrow removals first, so that each has entries to remove.
    for kind in Set((0..<3).map { _ in numbers.below(8) }).sorted() {
      let synced = numbers.chance(50)
      switch kind {
      case 0: try store.removeMany(["a/0", "a/2", "b/1", "b/3"], synced: synced)
      case 1: try store.removeAllStyles("b/1", synced: synced)
      case 2: try store.removeAll(style: small, synced: synced)
      case 3: try store.retain(only: ["a/3", "a/5"], prefix: "a/", synced: synced)
      case 4: try store.removeAll(synced: synced) { $0.urlText.hasSuffix("1") || $0.style == small }
      case 5: try store.removeAll(prefix: "a/", synced: synced)
      case 6: try store.retain(only: ["a/1", "b/2", "b/3", "b/4"], synced: synced)
      default: try store.removeAll(synced: synced)
      }
    }
    if numbers.chance(50) { store.upkeep() }
    try store.put("a/1", RecordedStore.bytes(numbers.size() / 2, 90), synced: numbers.chance(50))
    if numbers.chance(50) { try store.removeAll(synced: true) }
    if numbers.chance(50) {
      // All removed entries are durable, their removal is not, and upkeep would unlink their segments.
      try store.flush()
      try store.removeAll()
      store.upkeep()
    }
    try store.put("b/9", RecordedStore.bytes(300, 91), synced: true)
    try store.checkHeld()
  }

  static let metadata = CrashWorkload(
    "metadata", summary: "metadata changed beside payloads that stay"
  ) { store, numbers in
    for number in 0..<3 {
      try store.put(
        "k\(number)", RecordedStore.bytes(numbers.size() / 2, number), synced: numbers.chance(50),
        metadata: RecordedStore.bytes(numbers.below(60), 50 + number))
    }
    for number in 0..<8 {
      let name = "k\(numbers.below(3))"
      switch numbers.below(5) {
      case 0: try store.put(name, RecordedStore.bytes(400, number), metadata: [UInt8(number)])
      case 1: try store.remove(name)
      default:
        try store.setMetadata(
          name, RecordedStore.bytes(numbers.below(numbers.chance(20) ? 9000 : 3000), 70 + number),
          synced: numbers.chance(40))
      }
      if numbers.chance(12) { store.upkeep() }
    }
  }

  /// The URL has more styles than one run of the key table holds.
  static let crowd = CrashWorkload(
    "crowd", summary: "a URL with many styles, two of them with one tag; new originals remove the styles"
  ) { store, numbers in
    let styles = ((0..<36).map { "w\($0)" } + ["square-63", "square-320"]).compactMap { Style($0) }
    try store.put("a", RecordedStore.bytes(700, 1), synced: true)
    // If the original was refused, styles have no source and outlive it.
    guard store.store.contains(CacheKey("a")) else { return }
    try store.batch("a", styles: styles.enumerated().map { ($1, RecordedStore.bytes(30 + $0, 10 + $0)) })
    for number in 0..<6 {
      let style = styles[numbers.below(styles.count)]
      let isSynced = numbers.chance(40)
      switch numbers.below(5) {
      case 0:
        try store.replace(
          "a", RecordedStore.bytes(100 + numbers.size() / 2, 60 + number),
          outdating: styles.filter { store.store.contains(CacheKey("a", $0)) }, synced: isSynced)
      case 1: try store.remove("a", style: style, synced: isSynced)
      case 2 where numbers.chance(30): try store.removeAllStyles("a", synced: isSynced)
      default:
        try store.put("a", RecordedStore.bytes(90 + numbers.below(900), 80 + number), style: style, synced: isSynced)
      }
      if numbers.chance(15) { store.upkeep() }
    }
    try store.put("b", RecordedStore.bytes(300, 99), synced: true)
  }

  static let sources = CrashWorkload(
    "sources", summary: "styles that are removed with their original, and one whose source the caller names"
  ) { store, numbers in
    let styles = ["square", "wide", "tall"].compactMap { Style($0) }
    guard let badge = Style("badge"), let names = Source([1]), let others = Source([2]) else { return }
    try store.put("a", RecordedStore.bytes(700, 1), synced: true)
    // If the original was refused, styles have no source and outlive it.
    guard store.store.contains(CacheKey("a")) else { return }
    for number in 0..<10 {
      if numbers.chance(30) {
        try store.replace(
          "a", RecordedStore.bytes(100 + numbers.size() / 2, 10 + number),
          outdating: styles.filter { store.store.contains(CacheKey("a", $0)) }, synced: numbers.chance(50))
      } else if numbers.chance(30) {
        var options = PutOptions(durability: numbers.chance(50) ? .synced : .buffered)
        options.source = .named(numbers.chance(70) ? names : others)
        try store.put(CacheKey("a", badge), RecordedStore.bytes(80 + numbers.below(500), 60 + number), options: options)
        if numbers.chance(50) { try store.get("a", style: badge, from: names) }
      } else {
        let style = styles[numbers.below(3)]
        try store.put(
          "a", RecordedStore.bytes(90 + numbers.below(900), 30 + number), style: style, synced: numbers.chance(40))
      }
      if numbers.chance(10) { store.upkeep() }
    }
  }
}
