/// A file as the disk has it, as the programs see it, and the changes between the two.
struct FileHistory: Sendable {
  /// The content that survives every loss of power.
  private(set) var durable = FileContent()
  /// The content that a read returns.
  private(set) var live = FileContent()
  /// Changes since the last sync that succeeded, oldest first.
  private(set) var unsynced: [ContentChange] = []
  /// Whether ``live`` shows bytes that no later sync will write, because their sync failed.
  private var hasLostPages = false

  /// One change of content, in the three parts that a loss of power may keep or lose separately.
  struct ContentChange: Sendable {
    let index: Int
    var offset = 0
    var bytes: [UInt8] = []
    var isStore = false
    /// The new length, if the change altered it.
    var length: Int?
    /// Whether the change dropped the bytes past the new length.
    var cuts = false
    var allocation: Range<Int>?

    var grain: Grain { isStore ? .word : .sector }
    var range: Range<Int> { offset..<offset + bytes.count }
    /// Whether only a part of it may reach the disk.
    var canTear: Bool {
      let unit = grain.byteCount
      return bytes.count > 0 && range.lowerBound / unit != (range.upperBound - 1) / unit
    }
  }

  init() {}
  init(durable: FileContent) {
    self.durable = durable
    live = durable
  }

  mutating func write(_ bytes: [UInt8], at offset: Int, isStore: Bool, index: Int) {
    var change = ContentChange(index: index, offset: offset, bytes: bytes, isStore: isStore)
    if !isStore, offset + bytes.count > live.byteCount { change.length = offset + bytes.count }
    add(change)
  }

  mutating func allocate(_ byteCount: Int, index: Int) {
    var change = ContentChange(index: index, allocation: 0..<byteCount)
    if byteCount > live.byteCount { change.length = byteCount }
    add(change)
  }

  mutating func truncate(to byteCount: Int, index: Int) {
    add(ContentChange(index: index, length: byteCount, cuts: byteCount < live.byteCount))
  }

  /// Makes the changes durable that precede the operation of that number, at which the sync began: changes during
  /// the sync belong to the next one.
  mutating func sync(below index: Int) {
    let later = unsynced.firstIndex { $0.index >= index } ?? unsynced.endIndex
    if hasLostPages || later < unsynced.endIndex {
      for change in unsynced[..<later] { change.apply(to: &durable, .kept) }
      // Lengths were never lost, so this is the length at that moment.
      durable.trim()
    } else {
      durable = live
    }
    unsynced.removeSubrange(..<later)
  }

  /// Loses the unsynced bytes unless they are written again. Lengths and blocks are metadata, which a later sync still
  /// makes durable.
  mutating func loseUnsyncedPages() {
    hasLostPages = hasLostPages || unsynced.contains { !$0.bytes.isEmpty }
    for position in unsynced.indices { unsynced[position].bytes = [] }
    unsynced.removeAll { $0.length == nil && $0.allocation == nil }
  }

  /// Reads lost pages from the disk again, as a kernel does after memory was short.
  mutating func dropCleanPages() {
    guard hasLostPages else { return }
    let length = live.byteCount
    live = durable
    for change in unsynced { change.apply(to: &live, .kept) }
    live.setLength(length)
    hasLostPages = false
  }

  mutating func replace(with content: FileContent) { self = FileHistory(durable: content) }

  /// The content after a loss of power.
  func surviving(_ policy: CrashPolicy, inode: Int) -> FileContent {
    guard !unsynced.isEmpty else { return durable }
    var content = durable
    for (position, change) in unsynced.enumerated() {
      let circumstances = Circumstances(
        index: change.index, inode: inode, isName: false, position: position, count: unsynced.count)
      change.apply(to: &content, policy.fate(circumstances))
    }
    content.trim()
    return content
  }

  private mutating func add(_ change: ContentChange) {
    change.apply(to: &live, .kept)
    live.trim()
    unsynced.append(change)
  }
}

extension FileHistory.ContentChange {
  /// Applies the surviving parts of the change. The content may have bytes past its length afterward, which a later
  /// change may bring inside it; the caller trims at the end.
  func apply(to content: inout FileContent, _ fate: Fate) {
    if let length {
      let reached = fate.length(from: content.byteCount, to: length, cuts: cuts)
      if let reached {
        if cuts { content.setLength(Swift.min(reached, content.byteCount)) }
        content.setLengthOnly(reached)
      }
    }
    if let allocation, fate.keepsAllocation { content.allocate(allocation) }
    guard !bytes.isEmpty else { return }
    bytes.withUnsafeBytes { source in
      for part in fate.parts(of: range, grain: grain) {
        content.write(
          UnsafeRawBufferPointer(rebasing: source[part.lowerBound - offset..<part.upperBound - offset]),
          at: part.lowerBound)
      }
    }
  }
}
