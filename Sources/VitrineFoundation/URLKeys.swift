import Foundation
import Vitrine

// A URL is a key by its `absoluteString`, without any normalization. Two spellings of one address are two keys.

extension CacheKey {
  /// Makes a key of a URL: the UTF-8 bytes of its `absoluteString`.
  public init(_ url: URL, _ style: Style = .original) { self.init(url.absoluteString, style) }

  /// The URL of the key; nil if its bytes are not a URL.
  public var foundationURL: URL? { URL(string: urlText) }
}

extension CacheStore {
  /// Opens the store in a folder of the file system, and creates the store if there is none. Costs as much as the
  /// opening by a path, and throws the same errors. Throws `invalidArgument` if the URL is not one of a file.
  public static func open(
    at folder: URL, options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> CacheStore {
    try open(at: path(of: folder), options: options)
  }

  static func path(of folder: URL) throws(StoreError) -> String {
    guard folder.isFileURL else {
      throw .invalidArgument("the folder of a store is a file URL, not \(folder.absoluteString)")
    }
    return folder.path
  }

  /// Calls `body` with the bytes of an entry, or returns nil on a miss. Throws only the errors of `body`.
  public func get<R: ~Copyable, E: Error>(
    _ url: URL, style: Style = .original, source: Source? = nil, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R? {
    try get(url.absoluteString, style: style, source: source, body)
  }

  /// Returns a copy of an entry's bytes, or nil on a miss.
  public func data(_ url: URL, style: Style = .original, source: Source? = nil) -> Data? {
    data(url.absoluteString, style: style, source: source)
  }

  /// Returns the value of an entry, which stays valid beyond a closure, or nil on a miss.
  public func blob(_ url: URL, style: Style = .original, source: Source? = nil) -> Blob? {
    blob(url.absoluteString, style: style, source: source)
  }

  /// Returns the entry of a URL without its bytes, or the reason for a miss.
  public func lookup(_ url: URL, style: Style = .original, source: Source? = nil) -> LookupResult {
    lookup(url.absoluteString, style: style, source: source)
  }

  /// Whether there is an unexpired entry. Does not read the payload.
  public func contains(_ url: URL, style: Style = .original, source: Source? = nil) -> Bool {
    contains(url.absoluteString, style: style, source: source)
  }

  /// Stores a `Data` under a URL. Costs as much as a put under a text, and throws the same errors.
  public func put(
    _ data: Data, for url: URL, style: Style = .original, options: PutOptions = PutOptions()
  ) throws(StoreError) {
    try put(data.bytes, for: url.absoluteString, style: style, options: options)
  }

  /// Removes one entry. Returns whether there was one. Throws the errors of the call with a text.
  @discardableResult
  public func remove(
    _ url: URL, style: Style = .original, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Bool {
    try remove(url.absoluteString, style: style, durability: durability, erases: erases)
  }

  /// Removes all styles of a URL. Returns the number of entries removed. Throws the errors of the call with a text.
  @discardableResult
  public func removeAllStyles(
    _ url: URL, durability: Durability? = nil, erases: Bool = false
  ) throws(StoreError) -> Int {
    try removeAllStyles(url.absoluteString, durability: durability, erases: erases)
  }
}

extension AsyncCacheStore {
  /// Opens a store on a thread of the pool. Throws the errors of the opening by a path, and `invalidArgument` if the
  /// URL is not one of a file.
  public static func open(
    at folder: URL, options: StoreOptions = StoreOptions()
  ) async throws(StoreError) -> CacheStore {
    try await open(at: CacheStore.path(of: folder), options: options)
  }
}
