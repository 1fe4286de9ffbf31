import Synchronization

// Invariant: `start` is valid for `byteCount` bytes as long as `memory` is referenced. Only `hasFailed` changes, which
// is atomic.
/// A retained value: its bytes stay valid as long as the Blob is referenced, also after eviction, compaction,
/// `removeAll()`, `close()` or a deletion of the whole folder.
///
/// Made by ``CacheStore/blob(_:style:source:)``. Its bytes are usually the mapped memory of a segment. Then the Blob
/// keeps the segment mapped and its file on the disk. A file that has been unlinked meanwhile still counts against the
/// byte budget. The bytes are a copy if the value is compressed, if the store reads by ``ReadMode/copied``, or if Blobs
/// already hold segments of an eighth of the budget.
///
/// Thread-safe. Releasing the last Blob of an unlinked segment frees the file on the releasing thread, which takes
/// milliseconds for a large file.
public final class Blob: @unchecked Sendable {
  /// Number of bytes of the value.
  public let byteCount: Int
  /// The encoding of the value in the store. ``bytes`` are always decoded.
  public let encoding: Encoding
  /// The layout of a bitmap; nil for any other value.
  public let layout: BitmapLayout?
  /// The entry's metadata when the Blob was made.
  public let metadata: [UInt8]
  /// The digest of the value. ``isDamaged`` compares ``bytes`` with it.
  public let digest: Digest
  /// The time of the entry's put, in milliseconds since 1970.
  public let writtenMilliseconds: Int64
  /// The time at which the entry expires, in milliseconds since 1970; nil if never, or if its expiry depends on its
  /// last use. The Blob itself does not expire.
  public let expirationMilliseconds: Int64?

  private let start: UnsafeRawPointer
  private let memory: Memory
  private let digestOf: (@Sendable (UnsafeRawBufferPointer) -> Digest)?
  private let hasFailed = Atomic<Bool>(false)

  enum Memory {
    case segment(SegmentHold, UnsafeRawPointer)
    case copy(OwnedBytes)
  }

  init(
    _ memory: Memory, of view: RecordView, digestOf: (@Sendable (UnsafeRawBufferPointer) -> Digest)?
  ) {
    let header = view.header
    switch memory {
    case .segment(_, let start): self.start = start
    case .copy(let copy): start = copy.start
    }
    self.memory = memory
    self.digestOf = digestOf
    byteCount = header.logicalByteCount
    encoding = header.encoding
    layout = header.layout
    metadata = Array(view.metadata)
    digest = header.digest
    writtenMilliseconds = header.written
    let isFixed = header.expiration != 0 && !header.flags.contains(.sliding)
    expirationMilliseconds = isFixed ? header.expiration : nil
  }

  private var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: byteCount) }

  /// The bytes, valid as long as the Blob is referenced. Costs no copy and no system call.
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    get { unsafe _overrideLifetime(RawSpan(_unsafeBytes: buffer), borrowing: self) }
  }

  /// Calls `body` with the bytes. Costs no copy. Rethrows errors of `body`.
  public func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try body(bytes)
  }

  /// Whether the bytes are a copy in memory, so that the Blob holds no file.
  public var isCopy: Bool {
    if case .copy = memory { true } else { false }
  }

  /// Whether the bytes differ from the bytes that were put.
  ///
  /// Each call checks them against the digest, so check a Blob whose bytes look wrong, not every Blob at every use.
  /// O(bytes). If the bytes are mapped, the check reads the file, so a bad disk or a truncated file counts as damage
  /// and raises no signal. A copy is checked in memory. A read that fails for another reason, such as lack of memory,
  /// also counts as damage. Once true, always true.
  public var isDamaged: Bool {
    if hasFailed.load(ordering: .relaxed) { return true }
    if isIntact { return false }
    hasFailed.store(true, ordering: .relaxed)
    return true
  }

  /// Calls `body` with the place of the bytes in their file, and with the hold on the segment. Returns nil if no file
  /// has the bytes as they were put, because they are a copy or private memory replaces the file. Also returns nil if
  /// the file cannot be opened now. The descriptor belongs to the store, may be open for writing, and is valid until
  /// `body` returns. The bytes in the file do not change as long as the hold is referenced.
  package func withFileRange<R>(_ body: (FileRange, SegmentHold) -> R) -> R? {
    guard case .segment(let hold, _) = memory, let (file, range) = hold.source(of: buffer),
      let descriptor = file.systemDescriptor
    else { return nil }
    return withExtendedLifetime(file) {
      body(FileRange(descriptor: descriptor, offset: range.lowerBound, byteCount: range.count), hold)
    }
  }

  private var isIntact: Bool {
    switch memory {
    case .copy(let copy):
      withExtendedLifetime(copy) { (digestOf?(buffer) ?? Digest(of: buffer)) == digest }
    case .segment(let hold, _):
      // The bus error guard leaves zeros in place of a failed page, even if the file can be read again.
      !hold.storage.isDamaged(buffer) && hold.source(of: buffer).map(hasDigest) ?? false
    }
  }

  private func hasDigest(_ file: any File, _ range: Range<Int>) -> Bool {
    guard let digestOf else {
      return (try? Digest.reading(file, range, ThreadContext.current.scratch)) == digest
    }
    guard let bytes = try? file.read(range), bytes.count == range.count else { return false }
    return bytes.withUnsafeBytes { digestOf($0) } == digest
  }
}
