import Synchronization

/// The writer's side of the write-ahead log: a few files, written in turn.
///
/// It cannot be copied. It is part of the state behind the store's commit lock, so the compiler checks that each append
/// holds that lock. ``WAL`` makes the frames durable.
package struct LogWriter: ~Copyable {
  /// A file is `taken` while upkeep erases or resizes it.
  package enum State: Sendable { case free, active, filled, taken }

  package struct Entry {
    package fileprivate(set) var file: LogFile
    package fileprivate(set) var state = State.free
    package fileprivate(set) var header: WALFileHeader?
    /// Rule 6: for each segment, the highest end of the payloads that frames in this file carry.
    fileprivate var inlineEnds: [UInt64: Int] = [:]
    /// Bytes from the start that may hold frames, also of earlier uses; the rest is zeros.
    fileprivate var writtenEnd: Int
    /// Bytes of the disk that the ledger counts for the file.
    fileprivate var chargedByteCount: Int

    /// With `isNew`, the file holds only zeros. With a header, it holds replayed frames, and stays until a checkpoint
    /// covers them.
    package init(_ file: LogFile, isNew: Bool, replayed header: WALFileHeader?) {
      self.file = file
      self.header = header
      writtenEnd = isNew ? 0 : file.byteCount
      chargedByteCount = file.chargedByteCount
      if header != nil { state = .filled }
    }
  }

  /// The durability of the frames.
  package let log: WAL
  private let store: StoreID
  private let entropy: any Entropy
  package private(set) var files: [Entry]
  private var activeIndex: Int?
  /// File and seed of the active entry, at hand for each frame.
  private var activeFile: LogFile?
  private var activeSeed: UInt64 = 0
  /// The offset of the next frame.
  private var offset = WALFileHeader.frameStart
  package private(set) var nextSequence: UInt64
  package private(set) var opening: UInt64
  private var nextUse: UInt64
  package var demand = LogDemand()

  package init(
    store: StoreID, entropy: any Entropy, files: [Entry], nextUse: UInt64, opening: UInt64, durableSequence: UInt64
  ) {
    self.store = store
    self.entropy = entropy
    self.files = files
    self.nextUse = nextUse
    self.opening = opening
    nextSequence = Sequence.first(ofOpening: opening)
    log = WAL(
      capacity: LogWriter.capacity(of: files), nextSequence: nextSequence,
      durableSequence: durableSequence)
    log.adoptUnsynced(files.compactMap { entry in entry.header.map { (entry.file, $0.use) } })
  }

  /// A log without files, for a store that is only read.
  package init(none entropy: any Entropy) {
    self.init(
      store: StoreID(low: 0, high: 0), entropy: entropy, files: [], nextUse: 1, opening: 0, durableSequence: 0)
  }

  package var active: Entry? { activeIndex.map { files[$0] } }
  package var activeByteCount: Int { activeFile?.byteCount ?? 0 }
  package var room: Int { activeByteCount - offset }
  /// The length of all files together.
  package var byteCount: Int { files.indices.reduce(0) { $0 + files[$1].file.byteCount } }
  package var freeCount: Int { files.count { $0.state == .free } }
  package var position: WALPosition {
    WALPosition(use: activeIndex.flatMap { files[$0].header?.use } ?? 0, offset: offset, sequence: nextSequence)
  }

  /// Frees the file of this use, or the last file, though no checkpoint covers its frames.
  package mutating func free(use: UInt64) {
    let index = files.firstIndex { $0.header?.use == use } ?? files.indices.last
    if let index { files[index].state = .free }
  }

  /// Starts writing at the head of a free file. `cut` is the position where the log ended before. Returns false if no
  /// file is free.
  ///
  /// The header is not yet durable on return. The caller syncs the first file of an opening before anything else is
  /// written. A later file's header is synced with its first frames.
  package mutating func rotate(cut: WALPosition, followsDamage: Bool = false) throws(SystemError) -> Bool {
    try log.requireOpen()
    guard let next = files.firstIndex(where: { $0.state == .free }) else { return false }
    if Sequence.isNearlySpent(nextSequence) {
      opening = Sequence.opening(nextSequence) + 1
      nextSequence = Sequence.first(ofOpening: opening)
    }
    var header = WALFileHeader(
      store: store, use: nextUse, seed: try entropy.integer(), opening: opening, firstSequence: nextSequence,
      predecessor: cut.use, predecessorCut: cut.offset, predecessorSequence: cut.sequence,
      durableSequence: log.durableSequence)
    header.followsDamage = followsDamage
    try files[next].file.file.write(header.encoded(), at: 0)
    if let activeIndex {
      files[activeIndex].writtenEnd = max(files[activeIndex].writtenEnd, offset)
      files[activeIndex].state = .filled
    }
    nextUse += 1
    files[next].header = header
    files[next].inlineEnds = [:]
    files[next].state = .active
    activeIndex = next
    activeFile = files[next].file
    activeSeed = header.seed
    offset = WALFileHeader.frameStart
    log.begin(files[next].file, use: header.use)
    return true
  }

  /// Writes the frame in `buffer`, begun by ``Frame/begin(_:)``, and returns its number. The file must have room for
  /// it. `awaitsSync`: the caller makes the frame durable next.
  package mutating func append(
    _ buffer: ByteBuffer, changeCount: Int, awaitsSync: Bool = false
  ) throws(SystemError) -> UInt64 {
    try log.requireOpen()
    guard let active = activeFile else { throw WAL.refusal }
    let sequence = nextSequence
    Frame.finish(
      buffer, offset: offset, seed: activeSeed, sequence: sequence, durableSequence: log.durableSequence,
      changeCount: changeCount)
    precondition(buffer.count <= room, "the caller made room")
    // A reader in another process that sees the frame also sees the record it names.
    atomicMemoryFence(ordering: .releasing)
    try active.write(buffer.bytes, at: offset, awaitsSync: awaitsSync)
    offset += buffer.count
    nextSequence += 1
    log.note(appendedBelow: nextSequence, byteCount: buffer.count)
    return sequence
  }

  /// Uses up the numbers of `count` frames whose changes a durable checkpoint holds instead. The caller holds the
  /// commit lock.
  package mutating func skipSequence(_ count: UInt64 = 1) {
    nextSequence += count
    log.note(skippedBelow: nextSequence)
  }

  package mutating func noteInline(segment: UInt64, end: Int) {
    guard let activeIndex else { return }
    files[activeIndex].inlineEnds[segment] = max(files[activeIndex].inlineEnds[segment] ?? 0, end)
  }

  /// Frees the files that a durable checkpoint covers, except those with inline payloads that `isVouched` denies
  /// (rule 6).
  package mutating func release(before use: UInt64, isVouched: (_ segment: UInt64, _ end: Int) -> Bool) {
    for index in files.indices where files[index].state == .filled {
      guard let header = files[index].header, header.use < use,
        files[index].inlineEnds.allSatisfy({ isVouched($0.key, $0.value) })
      else { continue }
      files[index].state = .free
    }
  }

  // MARK: Free files taken out of use

  /// Takes a free file, so that no frame is written there; nil if there is none. The caller changes its size or its
  /// content, and then calls ``putBack(_:as:isErased:)``. A crash meanwhile does no harm: a durable checkpoint covers
  /// the file, so no recovery reads its frames.
  package mutating func takeFree(where isWanted: (LogFile) -> Bool) -> LogFile? {
    guard let index = files.firstIndex(where: { $0.state == .free && isWanted($0.file) }) else { return nil }
    files[index].state = .taken
    return files[index].file
  }

  /// Takes a free file that may hold frames of an earlier use; nil if there is none. Returns it with the number of
  /// bytes, from its start, that they may take.
  package mutating func takeForErasing() -> (file: LogFile, byteCount: Int)? {
    guard let index = files.firstIndex(where: { $0.state == .free && $0.writtenEnd > 0 }) else { return nil }
    files[index].state = .taken
    return (files[index].file, files[index].writtenEnd)
  }

  /// Frees a taken file again. `sized` is the same file with its present size.
  package mutating func putBack(_ file: LogFile, as sized: LogFile? = nil, isErased: Bool = false) {
    guard let index = files.firstIndex(where: { $0.file === file }) else { return }
    files[index].state = .free
    if let sized { files[index].file = sized }
    files[index].writtenEnd = isErased ? 0 : min(files[index].writtenEnd, files[index].file.byteCount)
    if isErased { files[index].header = nil }
    log.set(capacity: LogWriter.capacity(of: files))
  }

  private static func capacity(of files: [Entry]) -> Int {
    (files.map(\.file.byteCount).min() ?? 0) - WALFileHeader.frameStart
  }

  /// Notes the bytes of the disk that a file takes. Returns by how much they have changed.
  package mutating func note(charged byteCount: Int?, of file: LogFile) -> Int {
    guard let byteCount, let index = files.firstIndex(where: { $0.file === file }) else { return 0 }
    defer { files[index].chargedByteCount = byteCount }
    return byteCount - files[index].chargedByteCount
  }

  /// Whether a file that is not in use may hold frames of an earlier use.
  package var holdsOldFrames: Bool { files.contains { $0.state != .active && $0.writtenEnd > 0 } }
}
