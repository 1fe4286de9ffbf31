import Synchronization

/// The file of a segment and the memory that shows it. The catalog holds it while the segment is there, and every Blob
/// with bytes in it for as long as it likes: the last one that lets go unmaps it and settles the account, on whatever
/// thread, also after the store was closed. Borrowed reads count no references: they pin the segment's slot instead.
package final class SegmentStorage: @unchecked Sendable {
  /// Nil for a store that never touches mapped segments, and for an empty file.
  package private(set) var mapping: Mapping?
  /// Bytes of the file that may be read.
  package let byteCount: Int
  private let account: StorageAccount
  private let directory: any Directory
  private let name: String
  private let access: FileAccess
  private var kept: (any File)?
  /// What its file took when it lost its name.
  private let unlinkedByteCount = Atomic<Int>(0)
  private let current = Guarded(Current())

  private struct Current { weak var hold: SegmentHold? }

  /// `keepsFile`: else it is opened by its name whenever it is needed.
  package init(
    file: any File, name: String, in directory: any Directory, access: FileAccess, keepsFile: Bool, mapping: Mapping?,
    byteCount: Int, account: StorageAccount
  ) {
    self.mapping = mapping
    self.byteCount = byteCount
    self.account = account
    self.directory = directory
    self.name = name
    self.access = access
    kept = keepsFile ? file : nil
    mapping?.guardPages(isWritable: false)
  }

  package func openFile() throws(SystemError) -> any File {
    if let kept { return kept }
    return try directory.openFile(name, access)
  }

  /// Whether zeros stand in place of some page of the mapping.
  var hasDamagedPages: Bool {
    mapping.map { $0.isDamaged(UnsafeRawBufferPointer(start: $0.start, count: $0.byteCount)) } ?? false
  }

  /// Its name has gone; its `byteCount` bytes of the disk go with it.
  package func noteUnlinked(_ byteCount: Int) {
    unlinkedByteCount.store(byteCount, ordering: .relaxed)
    account.enterUnlinked(byteCount)
  }

  /// What Blobs with bytes in this segment share. Nil when holding it would take the sum of all that Blobs hold past
  /// `limit`, or when there is nothing to hold: no mapping, or no descriptor for the file. The caller has it pinned.
  package func hold(limit: Int) -> SegmentHold? {
    guard mapping != nil else { return nil }
    return current.withLock { current in
      if let hold = current.hold { return hold }
      guard account.enterPinned(byteCount, limit: limit) else { return nil }
      guard let file = try? openFile() else {
        account.leavePinned(byteCount)
        return nil
      }
      let hold = SegmentHold(storage: self, file: file, account: account)
      current.hold = hold
      return hold
    }
  }

  deinit {
    // The disk has the room back only after these.
    mapping = nil
    kept = nil
    account.enterUnlinked(-unlinkedByteCount.load(ordering: .relaxed))
  }
}

/// One segment, held by all Blobs with bytes in it and counted once.
package final class SegmentHold: Sendable {
  package let storage: SegmentStorage
  /// Open, since its name may go.
  package let file: any File
  private let account: StorageAccount

  fileprivate init(storage: SegmentStorage, file: any File, account: StorageAccount) {
    self.storage = storage
    self.file = file
    self.account = account
  }

  deinit { account.leavePinned(storage.byteCount) }
}
