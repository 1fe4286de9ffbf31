#if os(Linux)
  import CCurl

  /// The present request of a transfer, which redirects change. Owns the list of headers that libcurl reads.
  struct CurlRequest: ~Copyable {
    private(set) var address: WebAddress
    private var headers: RequestHeaders
    private var redirectCount = 0
    private var headerLines: UnsafeMutablePointer<curl_slist>?

    init(_ address: WebAddress, _ headers: RequestHeaders) {
      self.address = address
      self.headers = headers
    }

    deinit { curl_slist_free_all(headerLines) }

    /// Sets the request in a handle. The handle must not be used after the end of this value. Returns false if memory
    /// is short.
    mutating func set(in handle: CurlHandle, _ settings: CurlSettings) -> Bool {
      // Waits for a connection that may carry several transfers, instead of opening another one.
      vitrine_curl_set_number(handle.pointer, CURLOPT_PIPEWAIT, address.origin.scheme == "https" ? 1 : 0)
      // As in browsers, requests to this machine use no proxy. Nil means the proxies of the environment.
      // The address to which a proxy connects could not be checked.
      let isDirect = address.origin.isThisMachine || !settings.allowsPrivateAddresses
      return handle.set(CURLOPT_PROXY, isDirect ? "" : nil)
        && handle.set(CURLOPT_URL, address.text) && handle.set(CURLOPT_COOKIE, headers.cookie)
        && setHeaders(in: handle) && handle.set(CURLOPT_PINNEDPUBLICKEY, settings.pins(of: address.origin.host))
    }

    private mutating func setHeaders(in handle: CurlHandle) -> Bool {
      var lines: UnsafeMutablePointer<curl_slist>?
      var all = headers.lines
      if !headers.contains("user-agent") { all.append("User-Agent: Vitrine") }
      if !headers.contains("accept-encoding") {
        // A range refers to the encoded body, and a part of that cannot be decoded.
        all.append(headers.contains("range") ? "Accept-Encoding: identity" : "Accept-Encoding: gzip, deflate, br")
      }
      for line in all {
        guard let longer = curl_slist_append(lines, line) else {
          curl_slist_free_all(lines)
          return false
        }
        lines = longer
      }
      let code = vitrine_curl_set_pointer(handle.pointer, CURLOPT_HTTPHEADER, lines)
      curl_slist_free_all(headerLines)
      headerLines = lines
      return code == CURLE_OK
    }

    /// Changes to the request for the location of a redirect. Throws if the settings forbid it.
    mutating func follow(_ location: [UInt8], _ settings: CurlSettings) throws(LoadError) {
      redirectCount += 1
      if redirectCount > settings.mostRedirects { throw .tooManyRedirects }
      guard let next = WebAddress(LoadURL(location), base: address) else {
        throw .invalidURL(String(ResponseHead.text(location).prefix(1000)))
      }
      if next.origin != address.origin { headers.removeSecrets() }
      headers.removeDate()
      if let refusal = settings.refusal(of: next) { throw refusal }
      address = next
    }
  }
#endif
