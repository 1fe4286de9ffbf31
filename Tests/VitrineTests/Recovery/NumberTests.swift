import Testing

@testable import Vitrine

/// Rule 2: numbers are used once, and the log is read as long as they are contiguous.
@Suite struct NumberTests {
  private func open(_ image: MemoryDisk.Image, seed: UInt64 = 9) throws -> CacheStore {
    try TestWorld(fileSystem: MemoryDisk(image), seed: seed).open("store")
  }

  /// The files of a closed store that was opened several times and has one record.
  private func used() throws -> MemoryDisk.Image {
    let disk = MemoryDisk()
    for opening in 1...6 {
      let store = try TestWorld(fileSystem: disk, seed: UInt64(opening)).open("store")
      try store.put(noise(300, UInt64(opening)), for: "\(opening)")
      try store.close()
    }
    return disk.image
  }

  private func without(_ folders: [String], _ image: MemoryDisk.Image) -> MemoryDisk.Image {
    image.filter { file in !folders.contains { file.key.hasPrefix($0 + "/") } }
  }

  @Test func openingNumberExceedsTheCheckpointsWithoutALog() throws {
    let image = try used()
    let store = try open(without(["wal"], image))
    #expect(Sequence.opening(store.probe.firstSequence) > 6)
    try store.close()
  }

  @Test func openingNumberExceedsTheRecordsWithoutOtherFiles() throws {
    let image = try used()
    let store = try open(without(["wal", "checkpoints"], image))
    #expect(store.statistics().lastOpen.kind == .rebuilt && store.count == 6)
    #expect(Sequence.opening(store.probe.firstSequence) > 6)
    try store.close()
  }

  /// No checkpoint knows of the killed openings; only the log does.
  @Test func eachOpeningsNumbersAreAboveAllBeforeThem() throws {
    var disk = MemoryDisk()
    var newest = (frame: UInt64(0), record: UInt64(0))
    for opening in 1...5 {
      let store = try TestWorld(fileSystem: disk, seed: UInt64(opening)).open("store")
      let wal = store.probe.wal
      let first = Sequence.first(ofOpening: store.probe.log.opening)
      #expect(first > newest.frame && first > newest.record && store.probe.firstSequence == first)
      #expect(wal.appendedSequence >= first && store.probe.nextRecord == first)
      try store.put(noise(300, UInt64(opening)), for: "\(opening)")
      #expect(wal.appendedSequence > first)
      newest = (wal.appendedSequence, store.probe.nextRecord)
      disk = MemoryDisk(disk.image)
    }
  }

  @Test func eachUseOfALogFileHasAUniqueNumberAndSeed() throws {
    let image = try used()
    let headers = (0..<4).compactMap { image["wal/\($0).wal"]?.withUnsafeBytes { WALFileHeader($0) } }
    #expect(headers.count >= 2)
    #expect(Set(headers.map(\.seed)).count == headers.count && Set(headers.map(\.use)).count == headers.count)
    #expect(Set(headers.map(\.opening)).count == headers.count)
  }

  // MARK: Numbers that are used up

  /// The opening continues under the next number, with the next file of the log.
  @Test func openingWithHalfItsNumbersUsedTakesANewOne() throws {
    let disk = MemoryDisk()
    let store = try TestWorld(fileSystem: disk).open("store")
    let wal = store.probe.wal
    let opening = store.probe.log.opening
    // As if there had been as many changes, before a checkpoint.
    store.probe.skipSequence(1 << 35)
    try store.checkpoint()
    let use = store.probe.log.position.use
    #expect(store.probe.log.opening == opening && Sequence.opening(wal.appendedSequence) == opening)
    var number: UInt64 = 0
    while store.probe.log.position.use == use || number % 40 != 0 {
      try store.put(noise(20, number), for: "\(number % 40)")
      number += 1
    }
    #expect(store.probe.log.opening == opening + 1 && Sequence.opening(wal.appendedSequence) == opening + 1)
    let again = try TestWorld(fileSystem: MemoryDisk(disk.image), seed: 2).open("store")
    #expect(again.probe.log.opening == opening + 2)
    #expect(again.count == 40 && !again.statistics().lastOpen.mayHaveLostRemovals)
    for key in 0..<40 { #expect(again["\(key)"] == noise(20, number - 40 + UInt64(key))) }
    try again.close()
    try store.close()
  }

  /// The next opening's numbers would be beyond the limit of a number that is read.
  @Test(arguments: [UInt64(1) << 27 - 1, 1 << 27])
  func storeWithoutAFreeOpeningNumberIsReadOnly(_ newest: UInt64) throws {
    var image = try used()
    for (path, bytes) in image where path.hasPrefix("wal/") {
      guard var header = bytes.withUnsafeBytes({ WALFileHeader($0) }) else { continue }
      header.opening = newest
      image[path]!.replaceSubrange(0..<WALFileHeader.byteCount, with: header.encoded())
    }
    let error = storeError { _ = try open(image) }
    #expect({ if case .unreadable? = error { true } else { false } }(), "\(String(describing: error))")
    let reader = try TestWorld(fileSystem: MemoryDisk(image)).openReadOnly("store")
    #expect(reader.count == 6)
    try reader.close()
  }

  // MARK: Gaps and cuts

  /// A log file of one use: its header, and frames with these numbers that each retire a segment.
  private func logFile(_ header: WALFileHeader, sequences: [UInt64]) -> [UInt8] {
    var bytes = header.encoded()
    bytes += [UInt8](repeating: 0, count: WALFileHeader.frameStart - bytes.count)
    for sequence in sequences {
      let buffer = ByteBuffer()
      Frame.begin(buffer)
      Change.segmentRetired(slot: 4).encode(into: buffer)
      Frame.finish(
        buffer, offset: bytes.count, seed: header.seed, sequence: sequence, durableSequence: 0, changeCount: 1)
      bytes += Array(buffer.bytes)
    }
    return bytes + [UInt8](repeating: 0, count: 512)
  }

  private func header(
    use: UInt64, first: UInt64, predecessor: UInt64 = 0, cut: Int = 0, at sequence: UInt64 = 0, durable: UInt64 = 0
  ) -> WALFileHeader {
    WALFileHeader(
      store: goldenStore, use: use, seed: 77 + use, opening: 3, firstSequence: first, predecessor: predecessor,
      predecessorCut: cut, predecessorSequence: sequence, durableSequence: durable)
  }

  private static let frameByteCount = 48

  private func scan(_ files: [[UInt8]]) throws -> WALScan {
    var image: MemoryDisk.Image = [:]
    for (index, bytes) in files.enumerated() { image["wal/\(index).wal"] = bytes }
    let folder = try MemoryDisk(image).openDirectory("", create: false).openDirectory("wal", create: false)
    return try WALScan.open(folder, store: goldenStore, access: .readOnly)
  }

  private struct Target: ReplayTarget {
    var sequences: [UInt64] = []
    /// The change that it does not accept.
    var contradiction: UInt64?
    func expect(changeCount: Int) {}
    func prefetch(_ change: Change) {}
    mutating func apply(_ changes: ArraySlice<Change>, sequence: UInt64, file: WALScan.Found) -> Bool {
      if sequence == contradiction { return false }
      sequences.append(sequence)
      return true
    }
  }

  private func replayed(_ files: [[UInt8]], from use: UInt64 = 1) throws -> [UInt64] {
    var target = Target()
    let start = WALPosition(use: use, offset: WALFileHeader.frameStart, sequence: 10)
    _ = WALReplay.run(try scan(files), from: start, into: &target)
    return target.sequences
  }

  /// The frames that a reader at the beginning reads, and whether it can continue.
  private func followed(_ files: [[UInt8]]) throws -> (count: Int, isWhole: Bool) {
    var tail = LogTail(end: WALPosition(use: 1, offset: WALFileHeader.frameStart, sequence: 10))
    var count = 0
    let isWhole = try tail.follow(
      { try scan(files) },
      { _ in
        count += 1
        return true
      })
    return (count, isWhole)
  }

  @Test func framesCountAsLongAsTheirNumbersAreContiguous() throws {
    let head = header(use: 1, first: 10)
    let whole = [logFile(head, sequences: [10, 11, 12])]
    #expect(try replayed(whole) == [10, 11, 12])
    #expect(try followed(whole) == (3, true))
    for sequences in [[10, 12, 13], [10, 10, 11], [10, 9, 11]] as [[UInt64]] {
      let gap = [logFile(head, sequences: sequences)]
      #expect(try replayed(gap) == [10], "\(sequences)")
      #expect(try followed(gap) == (1, true), "\(sequences)")
    }
  }

  @Test func aFrameThatContradictsTheIndexIsDamage() throws {
    let scan = try scan([logFile(header(use: 1, first: 10), sequences: [10, 11, 12])])
    for contradiction: UInt64? in [nil, 11, 12] {
      var target = Target(contradiction: contradiction)
      let replay = WALReplay.run(
        scan, from: WALPosition(use: 1, offset: WALFileHeader.frameStart, sequence: 10), into: &target)
      #expect(replay.isDamaged == (contradiction != nil))
      #expect(replay.end.sequence == contradiction ?? 13)
    }
  }

  /// A file that does not follow the writer's end may show that the writer was not the last.
  @Test func laterFileBehindACleanEndIsExamined() throws {
    let end = WALPosition(use: 1, offset: WALFileHeader.frameStart, sequence: 10)
    let first = logFile(header(use: 1, first: 10), sequences: [])
    let later = logFile(header(use: 3, first: 40, predecessor: 2, cut: 900, at: 30, durable: 35), sequences: [])
    var target = Target()
    #expect(!WALReplay.run(try scan([first]), from: end, isClean: true, into: &target).isDamaged)
    #expect(WALReplay.run(try scan([first, later]), from: end, isClean: true, into: &target).isDamaged)
  }

  @Test func theNextFileCountsOnlyWhereTheOneBeforeWasCut() throws {
    let first = logFile(header(use: 1, first: 10), sequences: [10, 11])
    let cut = WALFileHeader.frameStart + 2 * Self.frameByteCount
    let next = logFile(header(use: 2, first: 12, predecessor: 1, cut: cut, at: 12), sequences: [12])
    #expect(try replayed([first, next]) == [10, 11, 12])
    #expect(try followed([first, next]) == (3, true))
    // A frame before the cut is missing, or the numbers do not match.
    var broken = first
    broken[cut - 4] ^= 1
    #expect(try replayed([broken, next]) == [10])
    #expect(try followed([broken, next]) == (1, false))
    let other = logFile(header(use: 2, first: 13, predecessor: 1, cut: cut, at: 13), sequences: [13])
    #expect(try replayed([first, other]) == [10, 11])
    #expect(try followed([first, other]) == (2, false))
  }

  @Test func olderFileNeverFollowsANewerOne() throws {
    let newer = logFile(header(use: 5, first: 10), sequences: [10, 11])
    let cut = WALFileHeader.frameStart + 2 * Self.frameByteCount
    for use: UInt64 in [3, 6] {
      let other = logFile(header(use: use, first: 12, predecessor: 5, cut: cut, at: 12), sequences: [12])
      #expect(try replayed([newer, other], from: 5) == (use > 5 ? [10, 11, 12] : [10, 11]))
    }
  }

  @Test func framesBehindACutAreNotRead() throws {
    let first = logFile(header(use: 1, first: 10), sequences: [10, 11, 12])
    let cut = WALFileHeader.frameStart + 2 * Self.frameByteCount
    let next = logFile(header(use: 2, first: 40, predecessor: 1, cut: cut, at: 12), sequences: [40])
    #expect(try replayed([first, next]) == [10, 11, 40])
    #expect(try followed([first, next]) == (3, true))
    // If two files have the same predecessor, the cut of the newer file is valid.
    let newest = logFile(
      header(use: 3, first: 50, predecessor: 1, cut: cut - Self.frameByteCount, at: 11), sequences: [50])
    #expect(try replayed([first, next, newest]) == [10, 50])
    #expect(try followed([first, next, newest]) == (2, true))
  }

  @Test func readerNoticesTheReuseOfItsFile() throws {
    let old = header(use: 1, first: 10)
    let found = try scan([logFile(header(use: 5, first: 60), sequences: [60])]).files[0]
    let stale = WALScan(files: [
      WALScan.Found(name: found.name, file: found.file, byteCount: found.byteCount, header: old)
    ])
    var tail = LogTail(end: WALPosition(use: 1, offset: WALFileHeader.frameStart, sequence: 10))
    let isWhole = tail.follow({ stale }, { _ in true })
    #expect(!isWhole)
  }
}
