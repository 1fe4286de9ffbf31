import Vitrine

/// A client of a cache server on this machine: `cachectl serve STORE --http unix:PATH`.
///
/// A store has one writer, so several processes use a store through the server that has it open. For a large value, the
/// server passes a descriptor of the file, and the client maps it: no byte is copied. Small values and compressed ones
/// are sent.
///
/// ```swift
/// let client = CacheClient(path: "/run/photos/http")
/// try client.put(bytes, for: "https://example.org/a.jpg")
/// if let value = try client.value("https://example.org/a.jpg") {
///   value.withBytes { decode($0) }
/// }
/// ```
///
/// Thread-safe. Concurrent calls use a connection each, and later calls use it again. A call blocks its thread for at
/// most the time limit, and the same time again for each MiB that it transfers. A forked child must create its own
/// client.
///
/// The first mapped value installs the guard of ``CacheStore/installBusErrorGuard()``: zeros replace a page that the
/// disk cannot deliver, and ``CachedValue/isDamaged`` is true.
public final class CacheClient: Sendable {
  private let pool: ConnectionPool
  private let authorization: String?

  /// Creates a client. Connects at the first call.
  ///
  /// - Parameters:
  ///   - path: The Unix socket at which the server listens for HTTP.
  ///   - name: The user name, if the server asks for one.
  ///   - password: The password of the user.
  ///   - timeout: The time in which the server answers a call, besides the time for large values. 1 ms to 24 days.
  public init(path: String, name: String? = nil, password: String = "", timeout: Duration = .seconds(30)) {
    let milliseconds = Int(min(max(1, timeout.milliseconds), Int64(Int32.max)))
    pool = ConnectionPool(path: path, timeoutMilliseconds: milliseconds)
    authorization = name.map { "Authorization: Basic \(Base64.encode(Array("\($0):\(password)".utf8)))\r\n" }
  }

  // MARK: Reading

  /// Returns the value of a URL in a style, or nil if the server has none. Counts as a use.
  ///
  /// A value of 16 KiB or more that is stored as it was put is mapped from the server's file. Costs a request; the
  /// bytes are read when they are used. Throws ``ClientError``.
  public func value(_ url: String, style: Style = .original) throws(ClientError) -> CachedValue? {
    try value(CacheKey(url, style))
  }

  /// Returns the value of a whole key. See ``value(_:style:)``.
  public func value(_ key: CacheKey) throws(ClientError) -> CachedValue? {
    var limit = pool.begin()
    do throws(ClientError) {
      return try value(key, accepting: "descriptor", &limit)
    } catch {
      // Without a descriptor or room for a mapping, the value is sent.
      guard case .noResources = error else { throw error }
      return try value(key, accepting: "bytes", &limit)
    }
  }

  private func value(
    _ key: CacheKey, accepting form: StaticString, _ limit: inout CallLimit
  ) throws(ClientError) -> CachedValue? {
    var request = try request("GET", key)
    request.fields += "Vitrine-Accept: \(form)\r\nConnection: Vitrine-Accept\r\n"
    let answer = try pool.exchange(request, &limit)
    switch answer.head.status {
    case 200: return try CachedValue(answer)
    case 404: return nil
    default: throw answer.refusal
    }
  }

  /// Returns a copy of the value of a URL in a style, or nil if the server has none. Throws ``ClientError``.
  public func bytes(_ url: String, style: Style = .original) throws(ClientError) -> [UInt8]? {
    try value(url, style: style)?.array
  }

  /// Returns whether the server has a value. Does not count as a use. Costs a request. Throws ``ClientError``.
  public func contains(_ url: String, style: Style = .original) throws(ClientError) -> Bool {
    try contains(CacheKey(url, style))
  }

  /// Returns whether the server has a value for a whole key. See ``contains(_:style:)``.
  public func contains(_ key: CacheKey) throws(ClientError) -> Bool { try finds("HEAD", key) }

  /// Sends a request without a body, and returns whether the server had the value.
  private func finds(_ method: StaticString, _ key: CacheKey) throws(ClientError) -> Bool {
    let answer = try pool.exchange(request(method, key))
    switch answer.head.status {
    case 200, 204: return true
    case 404: return false
    default: throw answer.refusal
    }
  }

  // MARK: Changing

  /// Stores a value, in place of an earlier one. Costs a request that copies the bytes to the server: O(bytes).
  ///
  /// - Parameters:
  ///   - bytes: The value. Its length is limited by the server, to 64 MiB by default.
  ///   - metadata: At most ``mostMetadataBytes`` bytes that are returned with the value.
  ///   - expirationMilliseconds: The time at which the value expires, in milliseconds since 1970; nil for never.
  /// - Throws: ``ClientError``. After `refused`, the key has no value or its earlier one. After `interrupted`, it may
  ///   also have the new one.
  public func put(
    _ bytes: borrowing RawSpan, for key: CacheKey, metadata: [UInt8] = [], expirationMilliseconds: Int64? = nil
  ) throws(ClientError) {
    if metadata.count > CacheClient.mostMetadataBytes {
      throw .invalidArgument(
        "metadata has at most \(CacheClient.mostMetadataBytes) bytes here, not \(metadata.count)")
    }
    var request = try request("PUT", key)
    if !metadata.isEmpty { request.fields += "Vitrine-Metadata: \(Base64.encode(metadata))\r\n" }
    if let expirationMilliseconds { request.fields += "Vitrine-Expires: \(expirationMilliseconds)\r\n" }
    request.fields += "Content-Length: \(bytes.byteCount)\r\n"
    let answer = try bytes.withUnsafeBytes { bytes throws(ClientError) in
      request.body = bytes
      return try pool.exchange(request)
    }
    guard (200...299).contains(answer.head.status) else { throw answer.refusal }
  }

  /// Stores a value given as an array. See ``put(_:for:metadata:expirationMilliseconds:)-(RawSpan,_,_,_)``.
  public func put(
    _ bytes: [UInt8], for key: CacheKey, metadata: [UInt8] = [], expirationMilliseconds: Int64? = nil
  ) throws(ClientError) {
    try put(bytes.span.bytes, for: key, metadata: metadata, expirationMilliseconds: expirationMilliseconds)
  }

  /// Stores a value given as an array under a URL and a style, without metadata and expiry. Throws ``ClientError``, as
  /// ``put(_:for:metadata:expirationMilliseconds:)-(RawSpan,_,_,_)`` does.
  public func put(_ bytes: [UInt8], for url: String, style: Style = .original) throws(ClientError) {
    try put(bytes, for: CacheKey(url, style))
  }

  /// Removes the value of a URL in a style. Returns whether there was one. Costs a request. Throws ``ClientError``;
  /// after `interrupted`, the value may have been removed.
  @discardableResult
  public func remove(_ url: String, style: Style = .original) throws(ClientError) -> Bool {
    try remove(CacheKey(url, style))
  }

  /// Removes the value of a whole key. See ``remove(_:style:)``.
  @discardableResult
  public func remove(_ key: CacheKey) throws(ClientError) -> Bool { try finds("DELETE", key) }

  /// The most bytes of metadata that a client can store.
  public static let mostMetadataBytes = 16 << 10

  // MARK: Held values

  /// Tells the server which mapped values this client no longer holds. Each later call does the same for up to 256
  /// values of its connection, so only a program that makes no call for some time needs this. Skips connections that
  /// another call uses. Costs a request for each 256 released values of a connection. Throws ``ClientError``.
  public func releaseValues() throws(ClientError) {
    var request = Request(method: "HEAD", target: "/health")
    request.fields = authorization ?? ""
    try pool.release(by: request)
  }

  private func request(_ method: StaticString, _ key: CacheKey) throws(ClientError) -> Request {
    var request = Request(method: method, target: RequestTarget.text(key))
    // Leaves room for metadata: the server takes heads of at most 32 KiB.
    if request.target.utf8.count > CacheClient.longestTarget {
      throw .invalidArgument("a key has at most \(CacheClient.longestTarget) bytes here, percent-encoded")
    }
    request.fields = authorization ?? ""
    return request
  }

  private static let longestTarget = 8 << 10
}
