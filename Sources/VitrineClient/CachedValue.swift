import Vitrine

/// A value from a ``CacheClient``. Its bytes stay valid as long as the object is referenced, also after the entry was
/// removed, and after the server has ended.
///
/// The bytes are mapped from the server's file, or copied if the value is small or stored compressed. The segment of a
/// mapped value counts as pinned in the server's store. Pinned segments take at most an eighth of its budget, and a
/// connection passes at most 4096 held values; further values are copied. Mapped bytes are read-only. Thread-safe.
public final class CachedValue: Sendable {
  /// Number of bytes of the value.
  public let byteCount: Int
  /// The entry's metadata.
  public let metadata: [UInt8]
  /// The digest of the value. ``isDamaged`` compares the bytes with it.
  public let digest: Digest
  /// The time at which the entry expires, in milliseconds since 1970; nil if never.
  public let expirationMilliseconds: Int64?

  private let content: Content

  private enum Content: Sendable {
    case copy([UInt8])
    case file(MappedRange, Lease)
  }

  /// Throws `noResources` if the file of the value cannot be mapped.
  init(_ answer: Answer) throws(ClientError) {
    let head = answer.head
    guard let tag = head.value(of: "etag"), let digest = Digest(String(tag.dropFirst().dropLast())) else {
      throw .notUnderstood("a value has no digest")
    }
    self.digest = digest
    guard let metadata = head.value(of: "vitrine-metadata").map({ Base64.decode(Array($0.utf8)) }) ?? [] else {
      throw .notUnderstood("metadata is not Base64")
    }
    self.metadata = metadata
    expirationMilliseconds = head.value(of: "vitrine-expires").flatMap { Int64($0) }
    if let place = answer.place {
      if answer.lacksDescriptor { throw .noResources("no descriptor is left for the file of a value") }
      guard let file = answer.file else { throw .notUnderstood("the file of a value was not passed") }
      content = .file(try MappedRange(of: file, place.range), place.lease)
      byteCount = place.range.count
    } else {
      content = .copy(answer.body)
      byteCount = answer.body.count
    }
  }

  /// Whether the bytes are a copy, so that the value holds no file.
  public var isCopy: Bool { if case .copy = content { true } else { false } }

  /// Calls `body` with the bytes. Costs no copy. Rethrows errors of `body`.
  public func withBytes<R: ~Copyable, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
    switch content {
    case .copy(let bytes): try body(bytes.span.bytes)
    case .file(let range, _): try range.withBytes(body)
    }
  }

  /// A copy of the bytes.
  public var array: [UInt8] {
    switch content {
    case .copy(let bytes): bytes
    case .file(let range, _): range.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    }
  }

  /// Whether the bytes differ from the bytes that were put. Computes their digest: O(bytes). If the disk fails to
  /// deliver a mapped page, zeros replace the page, and the value is damaged; no signal is raised.
  public var isDamaged: Bool {
    if case .file(let range, _) = content, range.isDamaged { return true }
    return withBytes { bytes in bytes.withUnsafeBytes { Digest(of: $0) } } != digest
  }
}
