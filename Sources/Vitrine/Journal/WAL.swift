import Synchronization

/// The write-ahead log: a few files of one size, written in turn.
///
/// Appending, rotating and the states of the files are guarded by the store's commit lock. Making frames durable needs
/// only the log's own monitor, so that callers share one sync (group commit) while others append.
package final class WAL: @unchecked Sendable {
  package final class LogFile {
    package enum State { case free, active, filled, erasing }
    package let name: String
    package let file: any File
    package let byteCount: Int
    /// Stores frames without a system call, if the file system promises the blocks of an allocated file: the file
    /// was written whole when it was made.
    private let pages: PopulatedPages?
    /// Bytes of frames since the last sync.
    private let filled = Atomic<Int>(0)
    @exclusivity(unchecked) package var state = State.free
    @exclusivity(unchecked) package var header: WALFileHeader?
    /// Rule 6: payloads that frames in this file carry, as the highest end of one in each segment.
    package var inlineEnds: [UInt64: Int] = [:]
    /// Bytes from the start that may hold frames, also of earlier uses; the rest is zeros.
    fileprivate var writtenEnd: Int

    /// `isNew`: the file holds only zeros.
    package init(name: String, file: any File, byteCount: Int, isMapped: Bool, isNew: Bool = false) {
      self.name = name
      self.file = file
      self.byteCount = byteCount
      writtenEnd = isNew ? 0 : byteCount
      let mapping = isMapped ? try? file.map(byteCount: byteCount, writable: true) : nil
      mapping?.guardPages(isWritable: true)
      pages = mapping.map { PopulatedPages($0) }
    }

    private static let largestStore = 2048
    /// Fewer bytes between two syncs are a trickle. A small file has small folios.
    private var leastFilled: Int { min(64 << 10, byteCount / 32) }
    /// Small, since a sync writes all populated pages.
    private static let ahead = 16 << 10

    /// A store into a mapping dirties the whole folio under it, up to 1 MiB, and the next sync writes all of that;
    /// a positioned write dirties its own blocks only. So only a burst of frames uses the mapping. A frame that
    /// `awaitsSync` never does.
    fileprivate func write(
      _ bytes: UnsafeRawBufferPointer, at offset: Int, awaitsSync: Bool
    ) throws(SystemError) {
      let range = offset..<offset + bytes.count
      let before = filled.wrappingAdd(bytes.count, ordering: .relaxed).oldValue
      guard let pages, let start = bytes.baseAddress, bytes.count <= LogFile.largestStore, !awaitsSync,
        before >= leastFilled, pages.covers(range) || pages.move(to: range, ahead: LogFile.ahead)
      else {
        return try file.write(bytes, at: offset)
      }
      let announces = file.announcesStores
      if announces { file.willStore(range) }
      let place = pages.mapping.start + offset
      place.copyMemory(from: start, byteCount: bytes.count)
      if announces { file.didStore(range) }
      if pages.mapping.isDamaged(UnsafeRawBufferPointer(start: place, count: bytes.count)) {
        throw SystemError(code: SystemError.ioError, operation: "write", path: file.path)
      }
    }

    fileprivate func sync() throws(SystemError) {
      filled.store(0, ordering: .relaxed)
      pages?.retreat()
      try file.sync()
    }
  }

  private let store: StoreID
  private let entropy: any Entropy
  package let files: [LogFile]
  @exclusivity(unchecked) package private(set) var active: LogFile?
  /// The offset of the next frame.
  @exclusivity(unchecked) package private(set) var offset = WALFileHeader.frameStart
  @exclusivity(unchecked) package private(set) var nextSequence: UInt64
  package private(set) var opening: UInt64
  private var nextUse: UInt64
  /// Bytes of frames written since opening.
  package var writtenByteCount: Int { written.load(ordering: .relaxed) }
  private let written = Atomic<Int>(0)

  /// One more than the number of the last complete frame.
  private let appended: Atomic<UInt64>
  /// All frames below this number are durable.
  private let durable: Atomic<UInt64>

  private let monitor = Monitor()
  private var isSyncing = false
  /// Files with frames that may not be durable, oldest first. Guarded by `monitor`.
  private var unsynced: [Unsynced] = []
  private struct Unsynced {
    let file: LogFile
    let use: UInt64
  }
  private var failure: SystemError?

  package init(
    store: StoreID, entropy: any Entropy, files: [LogFile], nextUse: UInt64, opening: UInt64,
    durableSequence: UInt64
  ) {
    self.store = store
    self.entropy = entropy
    self.files = files
    self.nextUse = nextUse
    self.opening = opening
    nextSequence = Sequence.first(ofOpening: opening)
    // Everything before this opening is complete; only a part may be known to be durable.
    appended = Atomic(nextSequence)
    durable = Atomic(durableSequence)
  }

  // MARK: Appending (under the commit lock)

  /// The bytes for frames in an empty file.
  package var capacity: Int { (files.first?.byteCount ?? 0) - WALFileHeader.frameStart }
  package var room: Int { (active?.byteCount ?? 0) - offset }
  package var freeCount: Int { files.count { $0.state == .free } }
  package var position: WALPosition {
    WALPosition(use: active?.header?.use ?? 0, offset: offset, sequence: nextSequence)
  }

  /// Starts writing at the head of a free file. `cut` is the position where the log ended before. Returns false if
  /// no file is free.
  ///
  /// The header is not yet durable on return: a first file of an opening is synced before anything else is written, and
  /// a later one is synced with its first frames, whose number is durable already.
  package func rotate(cut: WALPosition) throws(SystemError) -> Bool {
    guard let next = files.first(where: { $0.state == .free }) else { return false }
    if Sequence.isNearlySpent(nextSequence) {
      opening = Sequence.opening(nextSequence) + 1
      nextSequence = Sequence.first(ofOpening: opening)
    }
    let header = WALFileHeader(
      store: store, use: nextUse, seed: try entropy.integer(), opening: opening, firstSequence: nextSequence,
      predecessor: cut.use, predecessorCut: cut.offset, predecessorSequence: cut.sequence,
      durableSequence: durable.load(ordering: .relaxed))
    try next.file.write(header.encoded(), at: 0)
    if let active { active.writtenEnd = max(active.writtenEnd, offset) }
    nextUse += 1
    next.header = header
    next.inlineEnds = [:]
    next.state = .active
    active?.state = .filled
    active = next
    offset = WALFileHeader.frameStart
    monitor.lock()
    unsynced.append(Unsynced(file: next, use: header.use))
    monitor.unlock()
    return true
  }

  /// Writes the frame in `buffer`, begun by ``Frame/begin(_:)``, and returns its number. The file must have room
  /// for it. `awaitsSync`: the caller makes the frame durable next.
  package func append(
    _ buffer: ByteBuffer, changeCount: Int, awaitsSync: Bool = false
  ) throws(SystemError) -> UInt64 {
    guard let active, let header = active.header else {
      throw SystemError(code: SystemError.badDescriptor, operation: "append to the log", path: "wal")
    }
    let sequence = nextSequence
    Frame.finish(
      buffer, offset: offset, seed: header.seed, sequence: sequence,
      durableSequence: durable.load(ordering: .relaxed), changeCount: changeCount)
    precondition(buffer.count <= room, "the caller made room")
    // A reader in another process that sees the frame also sees the record it names.
    atomicMemoryFence(ordering: .releasing)
    try active.write(buffer.bytes, at: offset, awaitsSync: awaitsSync)
    offset += buffer.count
    written.wrappingAdd(buffer.count, ordering: .relaxed)
    nextSequence += 1
    appended.store(nextSequence, ordering: .releasing)
    return sequence
  }

  /// Uses up the numbers of `count` frames whose changes a durable checkpoint holds instead. Nothing was appended
  /// meanwhile.
  package func skipSequence(_ count: UInt64 = 1) {
    nextSequence += count
    appended.store(nextSequence, ordering: .releasing)
    monitor.lock()
    durable.store(nextSequence, ordering: .releasing)
    monitor.unlock()
  }

  package func noteInline(segment: UInt64, end: Int) {
    guard let active else { return }
    active.inlineEnds[segment] = max(active.inlineEnds[segment] ?? 0, end)
  }

  /// Frees the files that a durable checkpoint covers, except those with inline payloads that `isVouched` denies
  /// (rule 6).
  package func release(before use: UInt64, isVouched: (_ segment: UInt64, _ end: Int) -> Bool) {
    for file in files where file.state == .filled {
      guard let header = file.header, header.use < use,
        file.inlineEnds.allSatisfy({ isVouched($0.key, $0.value) })
      else { continue }
      file.state = .free
    }
  }

  // MARK: Erasing

  /// Takes a free file that may hold frames of an earlier use, so that no frame is written there; nil if there is
  /// none. Under the commit lock. ``erase(_:)`` must follow, then ``putBack(_:isErased:)``.
  package func takeForErasing() -> LogFile? {
    guard let file = files.first(where: { $0.state == .free && $0.writtenEnd > 0 }) else { return nil }
    file.state = .erasing
    return file
  }

  /// Overwrites a taken file with zeros, header included, and syncs it. A crash meanwhile does no harm: a durable
  /// checkpoint covers the file, so no recovery reads its frames. O(file length); takes no lock.
  package func erase(_ taken: LogFile) throws(SystemError) {
    let zeros = [UInt8](repeating: 0, count: min(taken.writtenEnd, 1 << 20))
    for offset in stride(from: 0, to: taken.writtenEnd, by: max(zeros.count, 1)) {
      try taken.file.write(Array(zeros.prefix(taken.writtenEnd - offset)), at: offset)
    }
    try taken.sync()
  }

  /// Frees the file again. Under the commit lock.
  package func putBack(_ taken: LogFile, isErased: Bool) {
    taken.state = .free
    guard isErased else { return }
    taken.writtenEnd = 0
    taken.header = nil
  }

  /// Returns whether a file that is not in use may hold frames of an earlier use. Under the commit lock.
  package var holdsOldFrames: Bool { files.contains { $0.state != .active && $0.writtenEnd > 0 } }

  // MARK: Durability (any thread)

  /// One more than the newest complete frame.
  package var appendedSequence: UInt64 { appended.load(ordering: .acquiring) }
  package var durableSequence: UInt64 { durable.load(ordering: .acquiring) }

  /// Enters the files of replayed frames, which may not be durable: they are synced before any newer frame counts
  /// as durable.
  package func adoptUnsynced(_ files: [LogFile]) {
    monitor.lock()
    unsynced.insert(
      contentsOf: files.map { Unsynced(file: $0, use: $0.header?.use ?? 0) }.sorted { $0.use < $1.use }, at: 0)
    monitor.unlock()
  }

  /// Returns when all frames below `sequence` are durable. Concurrent callers share a sync. A sync that failed fails
  /// this call and every later one.
  package func makeDurable(below sequence: UInt64) throws(SystemError) {
    if durable.load(ordering: .acquiring) >= sequence, sequence > 0 { return }
    monitor.lock()
    defer { monitor.unlock() }
    while true {
      if let failure { throw failure }
      if durable.load(ordering: .relaxed) >= sequence { return }
      if isSyncing {
        monitor.wait()
        continue
      }
      isSyncing = true
      // The number first, the files after: a frame below the number lies in a file of this list.
      let target = appended.load(ordering: .acquiring)
      let files = unsynced
      monitor.unlock()
      var failed: SystemError?
      for file in files where failed == nil {
        do throws(SystemError) { try file.file.sync() } catch { failed = error }
      }
      monitor.lock()
      isSyncing = false
      if let failed {
        failure = failed
      } else {
        // The newest file may be written to again; the older ones are complete.
        unsynced.removeAll { file in files.dropLast().contains { $0.use == file.use } }
        if target > durable.load(ordering: .relaxed) { durable.store(target, ordering: .releasing) }
      }
      monitor.signalAll()
    }
  }
}
