import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The expected state of an entry, without its times of put and use and the original it was made from.
package struct Content: Equatable, Sendable {
  /// In milliseconds.
  package enum Expiry: Equatable, Sendable {
    /// Since 1970.
    case at(Int64)
    case afterIdle(Int64)
  }

  package var bytes: [UInt8]
  package var metadata: [UInt8] = []
  package var layout: BitmapLayout?
  package var expiry: Expiry?
  var isPinned = false
  /// Requested when the entry was put. A reader cannot tell whether it was granted.
  private var isPageAligned = false
  /// The caller's own source; the store's automatic one is unknown here.
  var namedSource: Source?

  package init(_ bytes: [UInt8], metadata: [UInt8] = [], layout: BitmapLayout? = nil) {
    self.bytes = bytes
    self.metadata = metadata
    self.layout = layout
  }

  /// The content that a put with these options stores if the key has no pinned entry.
  package init(_ bytes: [UInt8], _ options: PutOptions) {
    self.init(bytes, metadata: options.metadata, layout: options.layout)
    expiry = Content.expiry(options.expirationMilliseconds, options.slidingExpirationMilliseconds)
    if case .named(let source) = options.source { namedSource = source }
    isPageAligned = options.isPageAligned
    isPinned = options.isPinned ?? false
  }

  init(_ bytes: [UInt8], _ entry: EntryInfo) {
    self.init(bytes, metadata: entry.metadata, layout: entry.layout)
    expiry = Content.expiry(entry.expirationMilliseconds, entry.slidingExpirationMilliseconds)
    if entry.hasNamedSource { namedSource = entry.source }
    isPinned = entry.isPinned
  }

  private static func expiry(_ fixed: Int64?, _ idle: Int64?) -> Expiry? {
    fixed.map { .at($0) } ?? idle.map { .afterIdle($0) }
  }

  /// Options that put the content again, with the source that the caller has named or with none.
  var options: PutOptions {
    var options = PutOptions(metadata: metadata, source: namedSource.map { .named($0) } ?? SourceOption.none)
    options.layout = layout
    options.isPageAligned = isPageAligned
    options.isPinned = isPinned
    switch expiry {
    case .at(let moment): options.expirationMilliseconds = moment
    case .afterIdle(let limit): options.slidingExpirationMilliseconds = limit
    case nil: break
    }
    return options
  }

  /// Whether a get may no longer return the entry. An expiry by idle time is unknown here.
  func hasExpired(at now: Int64) -> Bool {
    if case .at(let moment) = expiry { moment <= now } else { false }
  }

  /// Returns whether the payload of another entry serves this one too.
  func canShare(with other: Content) -> Bool {
    layout == other.layout && (other.isPageAligned || !isPageAligned) && Content.same(bytes, other.bytes)
  }

  /// Compares bytes as memory, because megabytes are compared for each crash, also in debug builds.
  package static func == (a: Content, b: Content) -> Bool {
    a.layout == b.layout && a.expiry == b.expiry && a.namedSource == b.namedSource
      && a.isPinned == b.isPinned && same(a.bytes, b.bytes)
      && same(a.metadata, b.metadata)
  }

  private static func same(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    a.count == b.count
      && a.withUnsafeBytes { a in
        b.withUnsafeBytes { b in a.count == 0 || memcmp(a.baseAddress!, b.baseAddress!, a.count) == 0 }
      }
  }
}
