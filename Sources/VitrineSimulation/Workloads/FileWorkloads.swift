import Vitrine

/// Workloads of the store's files: segments that fill, are compacted and cut, and the log that rotates.
enum FileWorkloads {
  static let filling = CrashWorkload(
    "filling", summary: "a large segment, which takes small values through a mapping once much is written",
    options: StoreOptions(byteBudget: 4 << 20, segmentByteCount: 512 << 10)
  ) { store, numbers in
    for number in 0..<10 { try store.put("k\(number % 4)", RecordedStore.bytes(7000 + number, number)) }
    for number in 10..<24 {
      try store.put("k\(numbers.below(6))", RecordedStore.bytes(500 + numbers.below(3000), number))
      // After a sync, the log uses positioned writes again until as much has been written once more.
      if numbers.chance(8) { try store.put("synced", RecordedStore.bytes(300 + number, number), synced: true) }
      if numbers.chance(6) { store.upkeep() }
    }
    try store.put("last", RecordedStore.bytes(80, 90), synced: numbers.chance(50))
  }

  static let compaction = CrashWorkload(
    "compaction", summary: "compaction of sparse segments, with shared payloads and styles"
  ) { store, numbers in
    guard let small = Style("small") else { return }
    func style(_ number: Int) -> Style { number % 3 == 0 ? .original : small }
    for number in 0..<40 {
      try store.put("k\(number)", RecordedStore.bytes(6000 + number * 50, number), style: style(number))
    }
    try store.put("shared", RecordedStore.bytes(4000, 900), style: small)
    try store.put("sharer", RecordedStore.bytes(4000, 900))
    try store.setMetadata("sharer", [1, 2, 3])
    let kept = numbers.below(4)
    for number in 0..<40 where number % 4 != kept {
      try store.batch("k\(number)", styles: [(style(number), RecordedStore.bytes(10, number))])
    }
    try store.begin()
    for number in [kept + 4 * numbers.below(10), kept + 4 * numbers.below(10)] {
      store.hold("k\(number)", style: style(number))
    }
    try store.compact()
    try store.put("after", RecordedStore.bytes(500 + numbers.below(900), 1000), synced: true)
    if numbers.chance(50) { try store.compact() }
    try store.put("later", RecordedStore.bytes(700, 1001))
    store.upkeep()
    try store.checkHeld()
  }

  static let logTurns = CrashWorkload(
    "log-turns", summary: "the log rotates through its files, with checkpoints at any time"
  ) { store, numbers in
    // The log's files are 32 KiB: each synced put fills a good part of one; buffered ones leave several of them
    // unsynced.
    let synced = [70, 70, 20, 0][numbers.below(4)]
    for number in 0..<(synced == 0 ? 150 : 16) {
      try store.put(
        "k\(numbers.below(5))", RecordedStore.bytes(synced == 0 ? 40 : 2000 + numbers.below(1900), number),
        synced: numbers.chance(synced))
      if numbers.chance(15) { store.upkeep() }
      if numbers.chance(synced == 0 ? 1 : 10) { try store.checkpoint() }
    }
    if synced == 0, numbers.chance(60) { try store.checkpoint() }
    if numbers.chance(40) {
      // The log needs a file while a checkpoint is about to free some.
      let bystanders = (0..<10).map {
        RecordedStore.Bystander.put("by\($0)", RecordedStore.bytes(3000 + numbers.below(900), 200 + $0), synced: true)
      }
      try store.overlap(sync: 1 + numbers.below(3), bystanders) { try store.checkpoint() }
    }
  }

  static let bursts = CrashWorkload(
    "bursts", summary: "a log and segments that grow with a burst of puts and are cut after it",
    options: StoreOptions(byteBudget: 32 << 20)
  ) { store, numbers in
    func burst(_ first: Int, _ count: Int) throws {
      for number in first..<first + count {
        let byteCount = numbers.chance(10) ? 50_000 + numbers.below(50_000) : 300 + numbers.below(3000)
        try store.put("k\(numbers.below(25))", RecordedStore.bytes(byteCount, number), synced: numbers.chance(40))
        if numbers.chance(4) { store.upkeep() }
      }
    }
    func calm() throws {
      switch numbers.below(4) {
      case 0: try store.idle()
      case 1: try store.reopen()
      case 2: _ = try store.compact()
      default:
        store.passTime(milliseconds: 700_000)
        store.upkeep()
      }
    }
    try burst(0, 20 + numbers.below(50))
    try store.begin()
    if numbers.chance(30) {
      // Longer than the log at first. The second one meets a log file without frames.
      for first in [0, 200] {
        try store.batch(puts: (first..<first + 200).map { ("n\($0 % 250)", RecordedStore.bytes(30, $0)) })
      }
    }
    try calm()
    try burst(100, 6)
    if numbers.chance(40) { try store.removeAll() }
    try calm()
    try store.put("last", RecordedStore.bytes(80, 90), synced: numbers.chance(50))
  }
}
