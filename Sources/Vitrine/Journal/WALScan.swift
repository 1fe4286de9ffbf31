/// The WAL files that an opening finds, and their order.
package struct WALScan {
  package struct Found {
    package let name: String
    package let file: any File
    package let byteCount: Int
    package let header: WALFileHeader?
  }

  package let files: [Found]
  /// Whether a header is unreadable or invalid. Its file may continue the log. A crash leaves no half header, because
  /// a header lies in one sector.
  let hasFailed: Bool

  package init(files: [Found], hasFailed: Bool = false) {
    self.files = files
    self.hasFailed = hasFailed
  }

  /// Opens every WAL file. A missing file is left out; an unreadable one has no header.
  package static func open(
    _ directory: any Directory, store: StoreID, access: FileAccess
  ) throws(SystemError) -> WALScan {
    var files: [Found] = []
    var hasFailed = false
    for index in 0..<CacheFormat.walFileCount {
      let name = WALFileHeader.fileName(index)
      let file: any File
      do throws(SystemError) {
        file = try directory.openFile(name, access)
      } catch {
        guard error.code == SystemError.missing else { throw error }
        continue
      }
      let status = try file.status()
      let header = header(of: file, store: store, &hasFailed)
      let byteCount = min(status.byteCount, CacheFormat.largestWALFile)
      files.append(Found(name: name, file: file, byteCount: byteCount, header: header))
    }
    return WALScan(files: files, hasFailed: hasFailed)
  }

  /// Returns nil for a header that belongs to another store or cannot be read.
  static func header(of file: any File, store: StoreID) -> WALFileHeader? {
    var hasFailed = false
    return header(of: file, store: store, &hasFailed)
  }

  private static func header(of file: any File, store: StoreID, _ hasFailed: inout Bool) -> WALFileHeader? {
    guard let bytes = try? file.read(0..<WALFileHeader.byteCount) else {
      hasFailed = true
      return nil
    }
    let header = bytes.withUnsafeBytes { WALFileHeader($0) }
    // The header of a file never used is zeros.
    if header == nil, bytes.contains(where: { $0 != 0 }) { hasFailed = true }
    return header.flatMap { $0.store == store ? $0 : nil }
  }

  /// If a header is unreadable or invalid, overwrites it and headers of other stores with zeros, after a checkpoint has
  /// replaced the log. So the next opening does not find the same damage again.
  func eraseInvalidHeaders(store: StoreID) {
    guard hasFailed else { return }
    for found in files where found.header == nil && found.byteCount >= WALFileHeader.byteCount {
      // This opening may have begun to use it by now.
      if WALScan.header(of: found.file, store: store) != nil { continue }
      try? found.file.write([UInt8](repeating: 0, count: WALFileHeader.byteCount), at: 0)
    }
  }

  package func file(use: UInt64) -> Found? { files.first { $0.header?.use == use } }

  /// Returns the newest file that names `use` as its predecessor. Older files that name it do not count any more.
  package func successor(of use: UInt64) -> Found? {
    files.filter { $0.header?.predecessor == use && $0.header!.use > use }.max { $0.header!.use < $1.header!.use }
  }

  package var newestUse: UInt64 { (files.compactMap { $0.header?.use }.max() ?? 0) + unread }
  package var newestOpening: UInt64 { (files.compactMap { $0.header?.opening }.max() ?? 0) + unread }

  /// Whether a rebuild has begun a new log after this use of a file.
  package func isRebuilt(after use: UInt64) -> Bool {
    files.contains { $0.header.map { $0.followsRebuild && $0.use > use } ?? false }
  }

  /// The most by which numbers in unreadable headers may exceed the known ones. The headers may be readable the next
  /// time, so no other file may get those numbers.
  private var unread: UInt64 { hasFailed ? UInt64(CacheFormat.walFileCount) : 0 }
}

/// The receiver of a replayed log's changes.
package protocol ReplayTarget {
  /// Prepares for about this many changes.
  mutating func expect(changeCount: Int)
  /// Prefetches the memory that the change needs. The change is applied soon.
  func prefetch(_ change: Change)
  /// Makes the changes of one frame. Returns false if they contradict the state, which ends the replay as damage.
  mutating func apply(_ changes: ArraySlice<Change>, sequence: UInt64, file: WALScan.Found) -> Bool
}

/// The result of following the log.
package struct WALReplay {
  /// The position before the first frame that does not count.
  package var end: WALPosition
  /// Uses of the files whose frames count, oldest first.
  package var chain: [UInt64] = []
  package var frameCount = 0
  package var changeCount = 0
  /// Whether the log is damaged or lacks durable frames (rule 9).
  package var isDamaged = false
  /// A frame or a later use of a file lies behind the end. A crash leaves such frames if it loses others that were not
  /// durable.
  package var isFollowed = false
  /// Keys (as the table keeps them) that whole frames after the damage touch, and whether one of these frames removes
  /// everything.
  package var laterKeys: Set<KeyHash> = []
  package var laterRemovesAll = false
  /// All frames below this number were known to be durable.
  package var durableSequence: UInt64 = 0

  /// Whether the log was followed at least up to a position. Ignores the position's sequence number, because a
  /// checkpoint without a frame uses up a number.
  package func reaches(_ position: WALPosition) -> Bool {
    end.use > position.use || end.use == position.use && end.offset >= position.offset
  }

  /// Follows the log from `position`. Frames count as long as they are whole, in order, and before the cut that the
  /// next file names. `isClean`: the store was closed at `position`. If the log ends there, no later frame is sought.
  package static func run(
    _ scan: WALScan, from position: WALPosition, isClean: Bool = false, into target: inout some ReplayTarget
  ) -> WALReplay {
    var replay = WALReplay(end: position)
    // The checkpoint of a new store is positioned before any use of a file.
    let first = position.use == 0 ? scan.successor(of: 0) : scan.file(use: position.use)
    if position.use == 0, first?.header?.followsDamage ?? false {
      replay.isDamaged = true
      replay.collectLater(scan, behind: 0, from: nil)
      return replay
    }
    if position.use == 0, let header = first?.header {
      replay.end = WALPosition(use: header.use, offset: WALFileHeader.frameStart, sequence: header.firstSequence)
    }
    guard var current = first else {
      if position.use == 0, !scan.hasFailed {
        // Headers of later uses show whether the first use, which is missing, was known to be durable.
        replay.collectLater(scan, behind: 0, from: nil)
        return replay
      }
      replay.isDamaged = true
      replay.collectLater(scan, behind: position.use, from: nil)
      return replay
    }
    while let header = current.header {
      replay.chain.append(header.use)
      replay.durableSequence = max(replay.durableSequence, header.durableSequence)
      let window = LogWindow(current)
      let next = scan.successor(of: header.use)
      let limit = min(next?.header?.predecessorCut ?? window.byteCount, window.byteCount)
      target.expect(
        changeCount: window.changeCount(from: replay.end.offset, sequence: replay.end.sequence, before: limit))
      let isConsistent = replay.follow(window, limit, header.seed, current, &target)
      if let next, let successor = next.header, isConsistent, !successor.followsDamage,
        replay.end.offset == successor.predecessorCut, replay.end.sequence == successor.predecessorSequence
      {
        replay.end = WALPosition(
          use: successor.use, offset: WALFileHeader.frameStart, sequence: successor.firstSequence)
        current = next
        continue
      }
      // The opening that made the next file found damage here. It died before its checkpoint, so it served no call.
      let wasDamaged = next?.header?.followsDamage ?? false
      replay.isDamaged = !isConsistent || window.hasFailed || scan.hasFailed || wasDamaged
      if isClean, isConsistent, next == nil, replay.end == position, header.use == scan.newestUse { break }
      replay.collectLater(scan, behind: header.use, from: window)
      break
    }
    return replay
  }

  /// Decodes frames some way ahead of applying them, so that cache misses in the tables overlap.
  private mutating func follow(
    _ window: LogWindow, _ limit: Int, _ seed: UInt64, _ file: WALScan.Found, _ target: inout some ReplayTarget
  ) -> Bool {
    let group = 64
    var changes: [Change] = []
    var frames: [(header: Frame.Header, changesEnd: Int)] = []
    while true {
      changes.removeAll(keepingCapacity: true)
      frames.removeAll(keepingCapacity: true)
      var isWhole = true
      var next = end
      while isWhole, changes.count < group,
        let (frame, bytes) = window.frame(at: next.offset, before: limit, seed: seed), frame.sequence == next.sequence
      {
        isWhole = Frame.forEachChange(bytes, at: next.offset, frame) { change in
          target.prefetch(change)
          changes.append(change)
          return true
        }
        guard isWhole else { break }
        frames.append((frame, changes.count))
        next.offset += frame.byteCount
        next.sequence += 1
      }
      var first = 0
      for (frame, changesEnd) in frames {
        guard target.apply(changes[first..<changesEnd], sequence: frame.sequence, file: file) else { return false }
        first = changesEnd
        end.offset += frame.byteCount
        end.sequence += 1
        frameCount += 1
        changeCount += frame.changeCount
        durableSequence = max(durableSequence, frame.durableSequence)
      }
      if !isWhole || frames.isEmpty { return isWhole }
    }
  }

  /// Examines whole frames after the end. They show whether the end lies before the durable position, and which keys
  /// cannot be trusted then.
  private mutating func collectLater(_ scan: WALScan, behind use: UInt64, from window: LogWindow?) {
    var keys: Set<KeyHash> = []
    var removesAll = false
    var durable: UInt64 = 0
    func collect(_ window: LogWindow, from offset: Int, seed: UInt64) {
      window.forEachFrame(from: offset, seed: seed) { frame, bytes, offset in
        durable = max(durable, frame.durableSequence)
        isFollowed = true
        _ = Frame.forEachChange(bytes, at: offset, frame) { change in
          if let key = change.key { keys.insert(key.stored) }
          if change == .removeAll { removesAll = true }
          return true
        }
      }
    }
    let end = end.sequence
    if let window, let header = scan.file(use: use)?.header {
      // Under one seed, sequence numbers rise with offsets, so no frame found here precedes the end.
      collect(window, from: self.end.offset, seed: header.seed)
    }
    for file in scan.files {
      guard let header = file.header, header.use > use else { continue }
      durable = max(durable, header.durableSequence)
      isFollowed = true
      collect(LogWindow(file), from: WALFileHeader.frameStart, seed: header.seed)
    }
    guard isDamaged || durable > end else { return }
    isDamaged = true
    laterKeys = keys
    laterRemovesAll = removesAll
  }
}

extension Change {
  /// The key that the change touches.
  package var key: KeyHash? {
    switch self {
    case .put(let put): put.hash
    case .remove(let hash, _): hash
    case .moved(let move): move.key
    case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired: nil
    }
  }

  /// The entry that the change removes or replaces.
  package var displaced: Displaced? {
    switch self {
    case .put(let put): put.displaced
    case .remove(_, let displaced): displaced
    default: nil
    }
  }
}
