#if os(Linux)
  import CCurl
  import Foundation

  /// Loads by HTTP with libcurl, and by HTTP/2 if the server supports it. Also loads the `file:` and `data:` URLs of
  /// requests.
  ///
  /// As lenient as browsers: accepts spaces around a URL, half-encoded paths, host names in other scripts, any bytes in
  /// headers, and unknown content encodings. Follows redirects only to `http:` and `https:`. Headers of a request may
  /// be secret, so after a redirect to another server, only headers that describe the wanted content are sent. Cookies
  /// last for one load: a redirect may set one.
  ///
  /// No bytes of a server end the process. Heads, redirects, times and the buffers of compressed bodies are bounded.
  /// The receiver limits the body: an error that it throws ends the load.
  ///
  /// One thread runs all loads of a loader. It sleeps while no bytes arrive, and exists only during loads. It calls the
  /// receivers, so a receiver that blocks delays the other loads. Connections stay open for later loads until the
  /// loader is released. Proxies come from the environment, such as `https_proxy`. Thread-safe.
  public final class CurlLoader: ByteLoading {
    private let loop: CurlLoop
    private let files = FileLoader()
    private let loadsFiles: Bool
    let connectionsPerHost: Int

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - timeoutSeconds: The time without a received byte after which a load fails, at least 0.001. The wait for a
    ///     free connection does not count.
    ///   - mostSeconds: The time limit of a whole load.
    ///   - connectionsPerHost: The number of concurrent connections to a host. The default fits the defaults of a
    ///     pipeline: 6 loads and 2 preheated ones. With fewer, requests would wait for connections of preheating.
    ///   - mostRedirects: The redirects that a load follows.
    ///   - loadsFiles: Whether `file:` URLs are loaded. Turn it off if the URLs come from others.
    ///   - authorityFile: A PEM file with the trusted certificate authorities. The default is the file that the
    ///     environment variable `SSL_CERT_FILE` names, or else the system's.
    ///   - pinnedPublicKeys: For a host, the SHA-256 digests, in base64, of the public keys that its
    ///     certificate may have, in addition to being valid. Such a host is loaded only by HTTPS. A name that no URL
    ///     can have as its host is a precondition failure.
    ///   - allowedServers: The servers that may be asked, also after redirects, as `host:port` in lower case. Nil
    ///     allows all.
    ///   - allowsPrivateAddresses: Whether connections to this machine, to private networks and to addresses of special
    ///     uses are made. Turn it off if the URLs come from others. The address of each connection is checked, so a
    ///     host name cannot hide a private address. If this is off, no proxy is used.
    public init(
      timeoutSeconds: Double = 30, mostSeconds: Double = 300, connectionsPerHost: Int = 8, mostRedirects: Int = 20,
      loadsFiles: Bool = true, authorityFile: String? = nil, pinnedPublicKeys: [String: [String]] = [:],
      allowedServers: Set<String>? = nil, allowsPrivateAddresses: Bool = true
    ) {
      self.loadsFiles = loadsFiles
      self.connectionsPerHost = min(max(1, connectionsPerHost), 1000)
      let environment = ProcessInfo.processInfo.environment
      loop = CurlLoop(
        CurlSettings(
          timeoutMilliseconds: CurlLoader.milliseconds(timeoutSeconds),
          mostMilliseconds: CurlLoader.milliseconds(mostSeconds), connectionsPerHost: self.connectionsPerHost,
          mostRedirects: max(0, mostRedirects),
          authorityFile: authorityFile ?? environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 },
          pinnedPublicKeys: CurlLoader.hosts(pinnedPublicKeys),
          allowedServers: allowedServers, allowsPrivateAddresses: allowsPrivateAddresses))
    }

    private static func milliseconds(_ seconds: Double) -> UInt64 {
      UInt64((seconds > 0.001 ? min(seconds, 1e9) : 0.001) * 1000)
    }

    /// Returns the pins with hosts in the form of addresses. Stops the program at a name that cannot be a host, because
    /// ignoring the name would leave the intended host without pins.
    private static func hosts(_ pins: [String: [String]]) -> [String: [String]] {
      var result: [String: [String]] = [:]
      for (host, keys) in pins {
        guard let address = WebAddress(LoadURL("https://\(host)/".utf8)) else {
          preconditionFailure("'\(host)' is not a host that can have pinned keys")
        }
        result[address.origin.host, default: []] += keys
      }
      return result
    }

    /// Whether a text is a URL of `http:` or `https:`.
    package static func isAddress(_ url: String) -> Bool { WebAddress(LoadURL(url.utf8)) != nil }

    /// Returns the server of an `http:` or `https:` URL as `host:port`, and the URL in its normal form. Returns nil if
    /// the settings do not allow the server, or if the URL has a user name. The address of the server is checked later.
    package func allowedAddress(_ url: String) -> (server: String, url: String)? {
      guard let address = WebAddress(LoadURL(url.utf8)), !address.hasUser, loop.settings.refusal(of: address) == nil
      else { return nil }
      return ("\(address.origin.host):\(address.origin.port)", address.plainText)
    }

    /// Returns the servers of `HOST` or `HOST:PORT` for `allowedServers`: without a port, those of `http:` and
    /// `https:`. Returns nil for other text.
    package static func servers(_ text: String) -> [String]? {
      guard !text.contains(where: { "/?#\\@*,%".contains($0) }),
        let address = WebAddress(LoadURL("http://\(text)/".utf8)),
        !address.origin.host.isEmpty, address.origin.port != "0",
        text.wholeMatch(of: /(\[[^\]]*\]|[^\[\]:]+)(:[0-9]{1,5})?/) != nil
      else { return nil }
      let ports = text.contains(/:[0-9]+$/) && !text.hasSuffix("]") ? [address.origin.port] : ["80", "443"]
      return ports.map { "\(address.origin.host):\($0)" }
    }

    /// Loads bytes. Throws ``LoadError``, `CancellationError`, errors of the receiver, and
    /// ``ImageError/invalidArgument(_:)`` for a header that HTTP cannot carry.
    public func load(_ request: LoadRequest, _ receiver: any LoadReceiving) async throws {
      try Task.checkCancellation()
      let url = LoadURL(request.url.utf8)
      switch url.scheme {
      case "file" where loadsFiles: try await files.load(url, request, receiver)
      case "data":
        guard let data = DataURL(url) else { throw LoadError.invalidURL(String(request.url.prefix(100))) }
        try data.load(receiver)
      default:
        guard let address = WebAddress(url) else { throw LoadError.invalidURL(request.url) }
        if let refusal = loop.settings.refusal(of: address) { throw refusal }
        try await load(address, try RequestHeaders(request.headers), receiver)
      }
    }

    private func load(_ address: WebAddress, _ headers: RequestHeaders, _ receiver: any LoadReceiving) async throws {
      let load = CurlLoop.Load()
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          loop.start(load) { [settings = loop.settings] in
            CurlTransfer(address, headers, receiver, settings, continuation)
          }
        }
      } onCancel: {
        loop.cancel(load)
      }
    }
  }

  /// The settings of a loader. They are the same for all its transfers.
  struct CurlSettings: Sendable {
    let timeoutMilliseconds: UInt64
    let mostMilliseconds: UInt64
    let connectionsPerHost: Int
    let mostRedirects: Int
    let authorityFile: String?
    let pinnedPublicKeys: [String: [String]]
    let allowedServers: Set<String>?
    let allowsPrivateAddresses: Bool

    /// Returns the error for a server that is not allowed, or for an address without TLS whose host has pinned keys,
    /// because there is no key to compare.
    func refusal(of address: WebAddress) -> LoadError? {
      let server = "\(address.origin.host):\(address.origin.port)"
      if let allowedServers, !allowedServers.contains(server) {
        return .forbidden("\(server) is not an allowed server")
      }
      return address.origin.scheme == "https" || pinnedPublicKeys[address.origin.host] == nil
        ? nil : .untrusted("\(address.origin.host) has pinned keys, and the URL is not https")
    }

    /// The pins of a host in libcurl's form; nil if there are none.
    func pins(of host: String) -> String? {
      pinnedPublicKeys[host].map { keys in
        keys.isEmpty
          ? "sha256//" : keys.map { $0.hasPrefix("sha256//") ? $0 : "sha256//\($0)" }.joined(separator: ";")
      }
    }
  }
#endif
