#if os(Linux)
  import CCurl

  /// The memory into which libcurl writes the text of an error.
  struct CurlErrorText: ~Copyable {
    private let text = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init() { text.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE)) }

    deinit { text.deallocate() }

    /// Lets a handle write errors here. The handle must be cleared before the end of this value.
    func set(in handle: CurlHandle) { vitrine_curl_set_pointer(handle.pointer, CURLOPT_ERRORBUFFER, text) }

    /// Returns the error of a failed transfer.
    func error(_ code: CURLcode, at address: WebAddress) -> LoadError {
      text[Int(CURL_ERROR_SIZE) - 1] = 0
      var text = String(cString: text)
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
