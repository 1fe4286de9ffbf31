import Synchronization

/// A value that stays: valid for as long as it is referenced, whatever eviction, compaction, `removeAll()`, `close()` or
/// a deletion of the whole folder do meanwhile.
///
/// Made by ``CacheStore/blob(_:style:source:)``. Its bytes are the segment's own memory, so it keeps that segment's file on the
/// disk (also when it has lost its name, and then the store's budget still counts it) and mapped; or they are a copy:
/// of a compressed value, of one from a store that reads by ``ReadMode/copied``, and once Blobs hold segments of an
/// eighth of the budget. Safe from any number of threads. The last Blob of an unlinked segment gives its file back when it
/// goes, on the thread that lets it go: milliseconds for a large one.
public final class Blob: @unchecked Sendable {
  /// Bytes of the value.
  public let byteCount: Int
  /// How the store keeps it; ``bytes`` are the value itself in any case.
  public let encoding: Encoding
  /// Given for a bitmap.
  public let layout: BitmapLayout?
  /// What the entry carried besides when it was retained.
  public let metadata: [UInt8]
  /// The digest of ``bytes``, which ``isDamaged`` compares.
  public let digest: Digest
  /// When the entry was put, in milliseconds since 1970.
  public let writtenMilliseconds: Int64
  /// When the entry expires, in milliseconds since 1970; nil for never, or when that follows its use. The Blob itself
  /// stays.
  public let expirationMilliseconds: Int64?

  // Invariant: `start` is valid for `byteCount` bytes as long as `memory` is there.
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

  /// The bytes, valid as long as the Blob. No copy, no system call.
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    get { unsafe _overrideLifetime(RawSpan(_unsafeBytes: buffer), borrowing: self) }
  }

  /// Lends the bytes to `body`.
  public func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    try body(bytes)
  }

  /// Whether the bytes are memory of the Blob's own, so that it holds no file.
  public var isCopy: Bool {
    if case .copy = memory { true } else { false }
  }

  /// Whether the bytes are no longer those that were put. Asking checks them against the digest, through reads of the
  /// file, which meet a bad disk or a file cut short as an error and not as a signal (a copy is checked in memory):
  /// O(bytes), so ask before relying on a Blob of which something looks wrong, not at every use. Once true, always true.
  /// A read that fails for another reason, such as want of memory, counts as damage.
  public var isDamaged: Bool {
    if hasFailed.load(ordering: .relaxed) { return true }
    if isIntact { return false }
    hasFailed.store(true, ordering: .relaxed)
    return true
  }

  private var isIntact: Bool {
    switch memory {
    case .copy(let copy):
      withExtendedLifetime(copy) { (digestOf?(buffer) ?? Digest(of: buffer)) == digest }
    case .segment(let hold, _):
      // Zeros stay in place of a page that the file could give again by now.
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
