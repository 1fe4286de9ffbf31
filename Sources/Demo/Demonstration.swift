import Vitrine

/// The steps, one after the other. Each stores its results in `outcome`, failed checks too.
struct Demonstration {
  /// The results of a run: the numbers of the report.
  struct Outcome {
    var pictures = (count: 0, byteCount: 0)
    var bitmaps = (count: 0, byteCount: 0)
    var putSeconds = (pictures: 0.0, bitmaps: 0.0)

    var sharedCount = 0
    var compressedCount = 0

    var inPlaceCount = 0
    var decompressedCount = 0
    /// Uncompressed values that did not come from a segment file's own pages.
    var copiedCount = 0
    var tellsMappings = true

    var killCount = 0
    var acknowledgedCount = 0
    var recoveredCount = 0
    /// Puts that were in progress when the process was killed, and had not been acknowledged.
    var unacknowledgedCount = 0
    var recovery: StoreStatistics.LastOpen?
    var recoverySeconds = 0.0

    var verification = VerificationReport()
    var verifySeconds = 0.0
    var cleanOpenSeconds = 0.0
    var getNanoseconds = 0.0
    var getCount = 0
    var statistics: StoreStatistics?
    var seconds = 0.0

    var failureCount = 0
    /// The first few.
    var failures: [String] = []

    var loading = PictureLoading.Outcome()
  }

  /// The number of kills of the second process, each after this many acknowledged puts.
  static let kills = [300, 700, 1100]
  static let drawnPictureCount = 60

  let folder: String
  /// Pictures to import; nil to draw some.
  let photos: String?
  private(set) var outcome = Outcome()
  private var pictures = Pictures()

  private var storePath: String { folder + "/store" }
  private static let clock = ContinuousClock()

  init(folder: String, photos: String?) {
    self.folder = folder
    self.photos = photos
  }

  mutating func run() throws {
    let start = Self.clock.now
    try prepare()
    try fill()
    try readBack()
    let rounds = try killWriters()
    try recover(rounds)
    try measure()
    try loadPictures()
    outcome.seconds = Self.seconds(since: start)
  }

  // MARK: The steps

  private mutating func prepare() throws {
    try Files.makeFolder(folder)
    if Files.exists(storePath) {
      guard Files.exists(storePath + "/STORE") else {
        throw DemoError("\(storePath) exists and is not a store of an earlier run; give another --folder")
      }
      try Files.removeTree(storePath)
    }
    pictures =
      if let photos { try Pictures(in: photos) } else {
        try Pictures(drawing: Self.drawnPictureCount, into: folder + "/pictures")
      }
    outcome.pictures = (pictures.all.count, pictures.byteCount)
    say(
      "\(Text.count(pictures.all.count)) pictures, \(Text.megabytes(pictures.byteCount)), \(pictures.origin)")
  }

  /// Puts every picture, and three bitmaps drawn from each.
  private mutating func fill() throws {
    // Room for the pictures twice, for bitmaps and for the writes of the killed processes.
    let budget = max(512 << 20, 2 * pictures.byteCount + 8 * 100_000 * pictures.all.count)
    let store = try CacheStore.open(at: storePath, options: StoreOptions(byteBudget: budget))

    for (number, picture) in pictures.all.enumerated() {
      let bytes = try Files.read(picture.path)
      var start = Self.clock.now
      try store.put(bytes, for: picture.url, options: PutOptions(metadata: Array("name=\(picture.url)".utf8)))
      outcome.putSeconds.pictures += Self.seconds(since: start)

      for kind in Thumbnail.allCases {
        let bitmap = kind.draw(number)
        start = Self.clock.now
        try store.put(
          bitmap, for: picture.url, style: kind.style, options: PutOptions(layout: kind.layout))
        outcome.putSeconds.bitmaps += Self.seconds(since: start)
        outcome.bitmaps.count += 1
        outcome.bitmaps.byteCount += bitmap.count
      }
    }

    // The first picture again, as another site might serve it: its bytes are not stored again.
    let first = pictures.all[0]
    try store.put(Files.read(first.path), for: Self.otherURL)
    try store.close()
    say("put them, and \(outcome.bitmaps.count) raw bitmaps in three styles")
  }

  private static let otherURL = "https://mirror.example.net/the-first-picture-again"

  /// Reads everything that `fill` put, and compares every byte with its source.
  private mutating func readBack() throws {
    let store = try CacheStore.open(at: storePath)
    try checkContent(of: store)

    let expected = pictures.all.count * (1 + Thumbnail.allCases.count) + 1
    check(store.count == expected, "the store has \(store.count) entries instead of \(expected)")
    var shared = 0
    var compressed = 0
    store.forEachEntry(prefix: "") { entry in
      if entry.isShared { shared += 1 }
      if entry.encoding == .zstd { compressed += 1 }
      return true
    }
    check(shared > 0, "equal bytes under two URLs were stored twice")
    outcome.sharedCount = shared
    outcome.compressedCount = compressed
    try store.close()
    say("read everything back and compared every byte")
  }

  /// Three times: another process writes, and is ended by SIGKILL in the middle of it.
  private mutating func killWriters() throws -> [KilledWriter.Round] {
    var rounds: [KilledWriter.Round] = []
    for (index, count) in Self.kills.enumerated() {
      let first = 1_000_000 * (index + 1)
      let round = try KilledWriter.run(
        store: storePath, planned: first..<first + 2 * count + 1000, killAfter: count)
      rounds.append(round)
      outcome.killCount += 1
      outcome.acknowledgedCount += round.acknowledged.count
    }
    say("killed \(rounds.count) writing processes, each in the middle of its work")
    return rounds
  }

  /// Opens the store of the killed processes, and checks that every acknowledged entry is there.
  private mutating func recover(_ rounds: [KilledWriter.Round]) throws {
    let start = Self.clock.now
    let store = try CacheStore.open(at: storePath)
    outcome.recoverySeconds = Self.seconds(since: start)
    let lastOpen = store.statistics().lastOpen
    outcome.recovery = lastOpen
    check(lastOpen.kind == .recovered, "the opening after the kill reports '\(lastOpen.kind)'")

    for round in rounds {
      let acknowledged = Set(round.acknowledged)
      for number in round.planned {
        let entry = KilledWriter.Entry(number: number)
        let bytes = entry.bytes
        let same = store.get(entry.url) { Self.areEqual($0, bytes) }
        switch (same, acknowledged.contains(number)) {
        case (true?, true): outcome.recoveredCount += 1
        case (true?, false): outcome.unacknowledgedCount += 1
        case (false?, _): check(false, "\(entry.url) has other bytes than were put")
        case (nil, true): check(false, "\(entry.url) was acknowledged and is missing")
        case (nil, false): break
        }
      }
    }
    outcome.inPlaceCount = 0
    outcome.decompressedCount = 0
    outcome.copiedCount = 0
    try checkContent(of: store)

    let verifying = Self.clock.now
    let found = try store.verify()
    outcome.verification = found
    outcome.verifySeconds = Self.seconds(since: verifying)
    check(found.isOK, "verify found \(found.damaged.count) damaged records")
    check(found.lost.isEmpty, "verify found \(found.lost.count) lost records")
    try store.close()
    say("opened the store again, found everything, verified every record")
  }

  /// Measures the time of a clean opening and of a get, and the sizes.
  private mutating func measure() throws {
    let start = Self.clock.now
    let store = try CacheStore.open(at: storePath)
    outcome.cleanOpenSeconds = Self.seconds(since: start)
    let kind = store.statistics().lastOpen.kind
    check(kind == .clean, "the opening after a clean close reports '\(kind)'")

    // Like a scrolling list: uncompressed values in any order, again and again.
    var keys: [CacheKey] = []
    store.forEachEntry(prefix: "") { entry in
      if entry.encoding != .zstd { keys.append(entry.key) }
      return true
    }
    var noise = Noise(seed: 1)
    for index in keys.indices.reversed() { keys.swapAt(index, noise.next(below: index + 1)) }
    let batch = 50_000
    var nanoseconds: [Double] = []
    var sum = 0
    for _ in 0..<7 {
      let start = Self.clock.now
      for index in 0..<batch {
        sum &+= store.get(keys[index % keys.count]) { Int($0.unsafeLoad(as: UInt8.self)) } ?? -1
      }
      nanoseconds.append(Self.seconds(since: start) * 1e9 / Double(batch))
    }
    // The first batch checks each value, and brings it into memory.
    outcome.getNanoseconds = nanoseconds.dropFirst().sorted()[3]
    outcome.getCount = batch
    check(sum != 0, "the timed gets returned nothing")
    outcome.statistics = store.statistics()
    try store.close()
  }

  /// Loads pictures as an app does: by URL and style.
  private mutating func loadPictures() throws {
    outcome.loading = try PictureLoading(folder: folder).run(photos == nil ? nil : pictures)
    for failure in outcome.loading.failures { check(false, failure) }
    say("loaded photos over HTTP in styles, again from memory, and from the store in a new process")
  }

  // MARK: Checks

  /// Compares each picture with its file and each bitmap with a new drawing.
  private mutating func checkContent(of store: CacheStore) throws {
    let segments = Files.resolved(storePath) + "/segments"
    for (number, picture) in pictures.all.enumerated() {
      let file = try Files.read(picture.path)
      checkValue(of: store, picture.url, .original, layout: nil, is: file, segments: segments)
      for kind in Thumbnail.allCases {
        checkValue(
          of: store, picture.url, kind.style, layout: kind.layout, is: kind.draw(number), segments: segments)
      }
      if number == 0 {
        checkValue(of: store, Self.otherURL, .original, layout: nil, is: file, segments: segments)
      }
    }
  }

  private mutating func checkValue(
    of store: CacheStore, _ url: String, _ style: Style, layout: BitmapLayout?, is expected: [UInt8],
    segments: String
  ) {
    let name = "\(url) \(style)"
    guard case .found(let entry) = store.lookup(url, style: style) else {
      return check(false, "\(name) is missing")
    }
    check(entry.layout == layout, "\(name) has another layout than was put")

    let read = store.get(url, style: style) { span -> (isSame: Bool, address: UInt, isMapped: Bool?) in
      let address = span.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
      return (
        Self.areEqual(span, expected), address,
        entry.encoding == .zstd ? nil : MappedFiles.hasFile(in: segments, at: address)
      )
    }
    guard let read else { return check(false, "\(name) is missing") }
    check(read.isSame, "\(name) has other bytes than were put")
    if entry.encoding == .zstd {
      outcome.decompressedCount += 1
      return
    }
    check(read.address % 64 == 0, "\(name) does not begin at a multiple of 64 bytes")
    switch read.isMapped {
    case true?: outcome.inPlaceCount += 1
    case false?:
      outcome.copiedCount += 1
      check(false, "\(name) was copied to be read")
    case nil: outcome.tellsMappings = false
    }
  }

  private mutating func check(_ isTrue: Bool, _ failure: @autoclosure () -> String) {
    if isTrue { return }
    outcome.failureCount += 1
    if outcome.failures.count < 10 { outcome.failures.append(failure()) }
  }

  private static func areEqual(_ span: RawSpan, _ bytes: [UInt8]) -> Bool {
    span.byteCount == bytes.count
      && span.withUnsafeBytes { found in bytes.withUnsafeBytes { found.elementsEqual($0) } }
  }

  private static func seconds(since start: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = (clock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  private func say(_ step: String) { print("  - " + step) }
}
