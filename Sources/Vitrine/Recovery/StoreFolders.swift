/// The folders of a store.
package struct StoreFolders: Sendable {
  package let root: any Directory
  package let wal: any Directory
  package let checkpoints: any Directory
  package let segments: any Directory
  package let resources: Resources

  package init(root: any Directory, create: Bool, resources: Resources = Resources()) throws(SystemError) {
    self.root = root
    self.resources = resources
    wal = try root.openDirectory(CacheFormat.walFolder, create: create)
    checkpoints = try root.openDirectory(CacheFormat.checkpointsFolder, create: create)
    segments = try root.openDirectory(CacheFormat.segmentsFolder, create: create)
  }

  /// For a store whose creation was interrupted. The root stands in for the folders that may not exist.
  package init(unfinished root: any Directory) {
    self.root = root
    resources = Resources()
    wal = root
    checkpoints = root
    segments = root
  }

  /// Wraps an open segment file that is closed and opened again by its name as needed.
  package func cached(
    _ file: any File, segment id: UInt64, access: FileAccess, isKept: Bool = false
  ) -> CachedFile {
    CachedFile(
      file, name: SegmentHeader.fileName(id), in: segments, access: access, cache: resources.files, isKept: isKept)
  }

  package var all: [any Directory] { [root, wal, checkpoints, segments] }

  /// Returns false if the store's folder, or one of its subfolders, was removed or replaced.
  package var areStillNamed: Bool {
    root.isStillNamed() && wal.isStillNamed() && segments.isStillNamed() && checkpoints.isStillNamed()
  }

  /// Opens the file of a segment, and maps it if `maps`, as far as file and segment reach. If the process has no
  /// mapping left, the segment stays unmapped. Returns the length of the file, without foreign bytes at its end.
  /// The length may exceed that of the segment: a seal or a checkpoint records the length after a cut, and a loss of
  /// power may undo the cut.
  @discardableResult
  package func open(
    _ segment: Segment, _ accounts: borrowing SegmentAccounts, access: FileAccess, maps: Bool, account: StorageAccount
  ) throws(SystemError) -> Int {
    let file = try segments.openFile(segment.fileName, access)
    let status = try file.status()
    let byteCount = accounts[segment].byteCount
    let readable = min(status.byteCount, byteCount)
    var length = readable
    if status.byteCount > byteCount {
      let bytes = (try? file.read(0..<SegmentHeader.byteCount)) ?? []
      let head = bytes.withUnsafeBytes { SegmentHeader($0) }
      let bound = SegmentHeader.bound(status.byteCount, store: accounts.table.store, segment: segment.id, head: head)
      if head != nil { length = max(length, bound) }
    }
    accounts.attach(
      segment, file: cached(file, segment: segment.id, access: access),
      mapping: maps && readable > 0 ? try Segment.map(file, byteCount: readable) : nil, byteCount: readable,
      allocatedByteCount: status.chargedByteCount(atMost: max(byteCount, length)), account: account, access: access)
    return length
  }
}
