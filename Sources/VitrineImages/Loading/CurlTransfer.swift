#if os(Linux)
  import CCurl
  import Foundation
  import Glibc

  /// A load by libcurl, with one easy handle for all redirects.
  ///
  /// Invariant: after ``CurlLoop/start(_:_:)`` has added the transfer, only the loop's thread uses it. libcurl calls
  /// the functions on that thread.
  final class CurlTransfer: @unchecked Sendable {
    enum Outcome {
      /// Nil stands for success.
      case ended((any Error)?)
      /// The loop must add the handle again.
      case redirected
    }

    /// libcurl's easy handle. The loop provides it from the first request to the end.
    var handle: UnsafeMutableRawPointer?
    /// The identity by which the loop finds this transfer. The reference keeps it from being reused.
    var load: CurlLoop.Load?
    /// The server to which this transfer counts, also after a redirect, and whether it counts as running.
    let place: WebAddress.Origin
    var holdsPlace = false

    private let receiver: any LoadReceiving
    private let settings: CurlSettings
    private var continuation: CheckedContinuation<Void, any Error>?
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var headerLines: UnsafeMutablePointer<curl_slist>?

    private var address: WebAddress
    private var headers: RequestHeaders
    private var redirectCount = 0

    private var head = ResponseHead()
    private var decoder: ContentDecoder?
    private var hasBegun = false
    private var failure: (any Error)?
    private var ignoredByteCount = 0

    /// The limit in bytes of a redirect's body. After a longer body, the connection is closed.
    private static let mostIgnoredByteCount = 64 << 10

    private let endOfTime: UInt64
    /// The time of the latest activity; nil while the transfer waits for a free connection.
    private var lastActivity: UInt64?
    private var reportsRequests = true

    init(
      _ address: WebAddress, _ headers: RequestHeaders, _ receiver: any LoadReceiving, _ settings: CurlSettings,
      _ continuation: CheckedContinuation<Void, any Error>
    ) {
      self.address = address
      place = address.origin
      self.headers = headers
      self.receiver = receiver
      self.settings = settings
      self.continuation = continuation
      errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
      endOfTime = CurlTransfer.now() + settings.mostMilliseconds
    }

    deinit {
      // The loop has taken the handle back, so libcurl no longer uses this memory.
      curl_slist_free_all(headerLines)
      errorText.deallocate()
    }

    /// Milliseconds of a monotonic clock.
    static func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds / 1_000_000 }

    /// The time at which this transfer times out unless there is more activity.
    var deadline: UInt64 { min(endOfTime, lastActivity.map { $0 + settings.timeoutMilliseconds } ?? .max) }

    /// A time before which this transfer does not time out, even if it gets a connection now.
    func earliestDeadline(_ now: UInt64) -> UInt64 {
      min(endOfTime, (lastActivity ?? now) + settings.timeoutMilliseconds)
    }

    var isEnded: Bool { continuation == nil }

    /// Resumes the caller. Nil stands for success.
    func finish(_ error: (any Error)?) {
      let continuation = continuation
      self.continuation = nil
      if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
    }

    // MARK: The request

    /// Returns a handle with the options that all transfers share, or nil if memory is short.
    static func makeHandle(_ settings: CurlSettings) -> UnsafeMutableRawPointer? {
      guard let handle = curl_easy_init() else { return nil }
      // An empty name turns cookies on without reading a file.
      guard vitrine_curl_set_text(handle, CURLOPT_COOKIEFILE, "") == CURLE_OK,
        settings.authorityFile == nil
          // Without the second call, the system's folder of authorities would be trusted, too.
          || vitrine_curl_set_text(handle, CURLOPT_CAINFO, settings.authorityFile) == CURLE_OK
            && vitrine_curl_set_text(handle, CURLOPT_CAPATH, nil) == CURLE_OK
      else {
        curl_easy_cleanup(handle)
        return nil
      }
      vitrine_curl_set_protocols(handle)
      vitrine_curl_abandon_resolver(handle)
      let numbers: [(CURLoption, Int)] = [
        (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP_CONTENT_DECODING, 0), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
        (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
        (CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: min(settings.mostMilliseconds, 1 << 30))),
      ]
      for (option, number) in numbers { vitrine_curl_set_number(handle, option, number) }
      return handle
    }

    /// Removes the state of the ended transfer from a handle. Returns false if that fails.
    static func clear(_ handle: UnsafeMutableRawPointer) -> Bool {
      vitrine_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, nil)
      vitrine_curl_set_pointer(handle, CURLOPT_HTTPHEADER, nil)
      return vitrine_curl_set_text(handle, CURLOPT_COOKIELIST, "ALL") == CURLE_OK
    }

    /// Prepares the handle for the present address. Returns false if memory is short.
    func prepare() -> Bool {
      head = ResponseHead()
      ignoredByteCount = 0
      guard let handle else { return false }
      vitrine_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
      let context = Unmanaged.passUnretained(self).toOpaque()
      reportsRequests = vitrine_curl_set_functions(handle, CurlTransfer.functions, context)
      // Waits for a connection that may carry several transfers, instead of opening another one.
      vitrine_curl_set_number(handle, CURLOPT_PIPEWAIT, address.origin.scheme == "https" ? 1 : 0)
      noteRequest()
      // As in browsers, requests to this machine use no proxy. Nil means the proxies of the environment.
      return set(CURLOPT_PROXY, address.origin.isThisMachine ? "" : nil) && set(CURLOPT_URL, address.text)
        && set(CURLOPT_COOKIE, headers.cookie) && setHeaders(handle)
        && set(CURLOPT_PINNEDPUBLICKEY, pins)
    }

    private func noteRequest() { lastActivity = reportsRequests ? nil : CurlTransfer.now() }

    /// The pins of the present host in libcurl's form; nil if there are none.
    private var pins: String? {
      settings.pinnedPublicKeys[address.origin.host].map { keys in
        keys.isEmpty
          ? "sha256//" : keys.map { $0.hasPrefix("sha256//") ? $0 : "sha256//\($0)" }.joined(separator: ";")
      }
    }

    private func setHeaders(_ handle: UnsafeMutableRawPointer) -> Bool {
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
      let code = vitrine_curl_set_pointer(handle, CURLOPT_HTTPHEADER, lines)
      curl_slist_free_all(headerLines)
      headerLines = lines
      return code == CURLE_OK
    }

    private func set(_ option: CURLoption, _ text: String?) -> Bool {
      guard let handle else { return false }
      return vitrine_curl_set_text(handle, option, text) == CURLE_OK
    }

    // MARK: The response

    private static let functions = vitrine_curl_functions(
      header: { bytes, size, count, context in
        CurlTransfer.call(context, size * count) { $0.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: $1)) }
      },
      body: { bytes, size, count, context in
        CurlTransfer.call(context, size * count) { $0.receiveBody(UnsafeRawBufferPointer(start: bytes, count: $1)) }
      },
      resolve: { _, _, context in
        _ = CurlTransfer.call(context, 0) { _, _ in true }
        return 0
      },
      open_socket: { context, _, address in
        _ = CurlTransfer.call(context, 0) { _, _ in true }
        guard let address else { return CURL_SOCKET_BAD }
        // Programs that this process starts must not inherit the socket.
        return socket(
          address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
      },
      request: { context, _, _, _, _ in
        _ = CurlTransfer.call(context, 0) { _, _ in true }
        return 0
      })

    /// Records activity, and calls `body` with the transfer. Returns the number of bytes taken: all, or none to end the
    /// transfer.
    private static func call(
      _ context: UnsafeMutableRawPointer?, _ count: Int, _ body: (CurlTransfer, Int) -> Bool
    ) -> Int {
      guard let context else { return 0 }
      let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
      transfer.lastActivity = now()
      return body(transfer, count) ? count : 0
    }

    private var status: Int {
      var status = 0
      if let handle { vitrine_curl_get_number(handle, CURLINFO_RESPONSE_CODE, &status) }
      return status
    }

    private var redirect: [UInt8]? { [301, 302, 303, 307, 308].contains(status) ? head["location"] : nil }

    /// Returns false if the transfer must end.
    private func trying(_ body: () throws -> Void) -> Bool {
      do {
        try body()
        return true
      } catch {
        failure = failure ?? error
        return false
      }
    }

    private func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
      trying { try head.add(line, status: status) }
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
      if !hasBegun, redirect != nil {
        ignoredByteCount += bytes.count
        return ignoredByteCount <= CurlTransfer.mostIgnoredByteCount
      }
      return trying {
        try begin()
        if let decoder {
          try decoder.decode(bytes) { try receiver.receive(Data($0)) }
        } else {
          try receiver.receive(Data(bytes))
        }
      }
    }

    /// Passes the head on, before the first byte of the body.
    private func begin() throws {
      if hasBegun { return }
      hasBegun = true
      let status = status
      guard head.isComplete, (100...999).contains(status) else {
        throw LoadError.interrupted("the response has no valid head")
      }
      var expected: curl_off_t = -1
      if let handle { vitrine_curl_get_offset(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &expected) }
      if let coding = head["transfer-encoding"], !ContentDecoder.isPlainTransfer(ResponseHead.text(coding)) {
        throw LoadError.interrupted("the body has a transfer encoding that is not supported")
      }
      if let coding = head["content-encoding"] { decoder = try ContentDecoder(ResponseHead.text(coding)) }
      try receiver.begin(
        LoadResponse(
          status: status, headers: head.headers, expectedByteCount: expected >= 0 ? Int(expected) : nil))
    }

    // MARK: The end

    /// Returns the outcome of the transfer when libcurl has ended it.
    func outcome(_ code: CURLcode) -> Outcome {
      if let failure { return .ended(failure) }
      let isTooLongRedirect = code == CURLE_WRITE_ERROR && ignoredByteCount > CurlTransfer.mostIgnoredByteCount
      if head.isComplete, !hasBegun, code == CURLE_OK || isTooLongRedirect, let redirect {
        return follow(redirect)
      }
      guard code == CURLE_OK else { return .ended(error(code)) }
      do {
        try begin()
        try decoder?.finish()
        return .ended(nil)
      } catch {
        return .ended(error)
      }
    }

    private func follow(_ location: [UInt8]) -> Outcome {
      redirectCount += 1
      if redirectCount > settings.mostRedirects { return .ended(LoadError.tooManyRedirects) }
      guard let next = WebAddress(LoadURL(location), base: address) else {
        return .ended(LoadError.invalidURL(String(ResponseHead.text(location).prefix(1000))))
      }
      if next.origin != address.origin { headers.removeSecrets() }
      if let refusal = settings.refusal(of: next) { return .ended(refusal) }
      address = next
      return .redirected
    }

    private func error(_ code: CURLcode) -> LoadError {
      errorText[Int(CURL_ERROR_SIZE) - 1] = 0
      var text = String(cString: errorText)
      if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
      return switch code {
      case CURLE_OPERATION_TIMEDOUT: .timedOut
      case CURLE_URL_MALFORMAT: .invalidURL(address.text)
      case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT: .unreachable(text)
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
        CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CRL_BADFILE:
        .untrusted(text)
      default: .interrupted(text)
      }
    }
  }
#endif
