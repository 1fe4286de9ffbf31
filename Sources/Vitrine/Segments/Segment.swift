import Synchronization

/// One segment file, as the writer knows it. Its account, which changes with the records in it, is reachable through
/// the ``SegmentAccounts`` alone; readers use the ``SegmentTable``.
///
/// Invariant: `storage` is set before other threads know the segment, or by the only writer while no entry names it.
/// `memory` holds the initialized account of this segment until deinit, and only code with the accounts touches it.
package final class Segment: @unchecked Sendable {
  package enum State: Sendable, Equatable {
    /// Made and empty.
    case spare
    /// Takes reservations.
    case open
    /// Takes no more.
    case sealed
    /// No record in it is live; its file is about to be unlinked.
    case retired
  }

  package let id: UInt64
  package let slot: Int
  /// The file; nil if it is missing, and until recovery has opened it.
  @exclusivity(unchecked) package private(set) var storage: SegmentStorage?
  /// The syncs of its file. One is over when the store has noted its result.
  package let syncs = SharedSync()
  private let retired = Atomic<Bool>(false)
  private let memory: UnsafeMutablePointer<SegmentAccount>

  package init(id: UInt64, slot: Int, byteCount: Int, stream: StreamKind, state: State, tail: Int) {
    self.id = id
    self.slot = slot
    memory = .allocate(capacity: 1)
    memory.initialize(to: SegmentAccount(byteCount: byteCount, stream: stream, state: state, tail: tail))
  }

  deinit {
    memory.deinitialize(count: 1)
    memory.deallocate()
  }

  /// The account's memory, for ``SegmentAccounts``.
  @inline(__always)
  func account(_ key: borrowing SegmentAccounts) -> UnsafeMutablePointer<SegmentAccount> { memory }

  /// Whether a frame has retired it. Any thread.
  package var isRetired: Bool { retired.load(ordering: .acquiring) }

  // MARK: The file

  /// Whether the file exists.
  package var isAttached: Bool { storage != nil }

  /// The open file; nil if it is missing or cannot be opened now.
  package var file: (any File)? { try? storage?.openFile() }

  /// Returns the open file; nil if it is missing. Throws if it cannot be opened now: a segment must not count as synced
  /// because no descriptor was left, for example.
  package func openFile() throws(SystemError) -> (any File)? { try storage?.openFile() }

  /// Returns the open file. Throws also if it is missing.
  package func requireFile() throws(SystemError) -> any File {
    guard let file = try openFile() else {
      throw SystemError(code: SystemError.missing, operation: "open", path: fileName)
    }
    return file
  }

  /// Whether zeros replace a page of its mapping: then no record may be written into it any more.
  @inline(__always)
  package var hasDamagedPages: Bool { BusErrors.haveHappened && storage?.hasDamagedPages ?? false }

  /// Returns nil if the process has no mapping left.
  package static func map(_ file: any File, byteCount: Int) throws(SystemError) -> Mapping? {
    do throws(SystemError) {
      return try file.map(byteCount: byteCount, writable: false)
    } catch {
      guard error.code == SystemError.noMemory else { throw error }
      return nil
    }
  }

  /// The readable bytes of its file.
  package var readableByteCount: Int { storage?.byteCount ?? 0 }

  package var fileName: String { SegmentHeader.fileName(id) }

  /// Sets the storage of a segment whose file was made or opened.
  fileprivate func set(_ storage: SegmentStorage) { self.storage = storage }

  fileprivate func noteRetired() { retired.store(true, ordering: .releasing) }
}

extension SegmentAccounts {
  /// Notes that the log has retired the segment.
  package func retire(_ segment: Segment) {
    segment.account(self).pointee.retire()
    segment.noteRetired()
    keepFile(of: segment)
  }

  /// Attaches a file that takes `allocatedByteCount` bytes of the disk, of which `byteCount` can be read.
  package func attach(
    _ segment: Segment, file: CachedFile, mapping: Mapping?, window: FillWindow? = nil, byteCount: Int,
    allocatedByteCount: Int, account: StorageAccount, access: FileAccess
  ) {
    segment.set(
      SegmentStorage(
        file: file, access: access, mapping: mapping, window: window, byteCount: byteCount, account: account))
    segment.account(self).pointee.set(allocatedByteCount: allocatedByteCount)
    keepFile(of: segment)
  }

  /// Returns the same segment, for another slot of another table. `account` is its account there.
  func segment(_ other: Segment, _ account: SegmentAccount, slot: Int) -> Segment {
    let segment = Segment(
      id: other.id, slot: slot, byteCount: account.byteCount, stream: account.stream, state: account.state,
      tail: account.fill.tail)
    if let storage = other.storage { segment.set(storage) }
    segment.account(self).pointee.take(account)
    return segment
  }
}
