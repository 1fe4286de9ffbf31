#if os(Linux)
  import CCurl

  /// An easy handle of libcurl. Its owner frees it. For one thread at a time.
  struct CurlHandle {
    let pointer: UnsafeMutableRawPointer

    /// Returns a handle with the options that all transfers share, or nil if memory is short.
    static func make(_ settings: CurlSettings) -> CurlHandle? {
      guard let handle = curl_easy_init().map({ CurlHandle(pointer: $0) }) else { return nil }
      // An empty name turns cookies on without reading a file.
      guard handle.set(CURLOPT_COOKIEFILE, ""),
        settings.authorityFile == nil
          // Without the second call, the system's folder of authorities would be trusted, too.
          || handle.set(CURLOPT_CAINFO, settings.authorityFile) && handle.set(CURLOPT_CAPATH, nil)
      else {
        handle.free()
        return nil
      }
      vitrine_curl_set_protocols(handle.pointer)
      vitrine_curl_abandon_resolver(handle.pointer)
      let numbers: [(CURLoption, Int)] = [
        (CURLOPT_NOSIGNAL, 1), (CURLOPT_HTTP_CONTENT_DECODING, 0), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
        (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)),
        (CURLOPT_CONNECTTIMEOUT_MS, Int(clamping: min(settings.mostMilliseconds, 1 << 30))),
      ]
      for (option, number) in numbers { vitrine_curl_set_number(handle.pointer, option, number) }
      return handle
    }

    /// Whether a handle may run another request. From 7.83 to 8.1.0, libcurl keeps a pointer to the last header of the
    /// previous request, whose memory it has released. If the first header of the next response begins with a blank,
    /// libcurl appends it there (https://github.com/curl/curl/issues/11101). A server could use that.
    static let mayRunAgain = !(0x07_53_00..<0x08_01_01).contains(vitrine_curl_version())

    /// Returns a new handle with the cookies of this one, or nil if memory is short.
    func renewed(_ settings: CurlSettings) -> CurlHandle? {
      guard let new = CurlHandle.make(settings) else { return nil }
      if vitrine_curl_copy_cookies(pointer, new.pointer) { return new }
      new.free()
      return nil
    }

    func free() { curl_easy_cleanup(pointer) }

    /// Removes the state of the ended transfer. Returns false if that fails.
    func clear() -> Bool {
      vitrine_curl_set_pointer(pointer, CURLOPT_ERRORBUFFER, nil)
      vitrine_curl_set_pointer(pointer, CURLOPT_HTTPHEADER, nil)
      return set(CURLOPT_COOKIELIST, "ALL")
    }

    /// Sets an option to a copy of the text. Returns false if memory is short.
    func set(_ option: CURLoption, _ text: String?) -> Bool {
      vitrine_curl_set_text(pointer, option, text) == CURLE_OK
    }

    /// The HTTP status of the latest response; 0 if there is none.
    var status: Int {
      var status = 0
      vitrine_curl_get_number(pointer, CURLINFO_RESPONSE_CODE, &status)
      return status
    }

    /// The length of the body by its header; nil if it is not known.
    var expectedByteCount: Int? {
      var expected: curl_off_t = -1
      vitrine_curl_get_offset(pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &expected)
      return expected >= 0 ? Int(expected) : nil
    }
  }
#endif
