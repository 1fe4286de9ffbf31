#if os(Linux)
  import CCurl
  import Foundation

  /// The address of an HTTP resource, in the form that is sent to a server. libcurl parses it and resolves references.
  struct WebAddress: Hashable, Sendable {
    /// The server: scheme, host in lower case, and port.
    struct Origin: Hashable, Sendable {
      let scheme: String
      let host: String
      let port: String

      /// Whether the host is this machine.
      var isThisMachine: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
          || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
      }
    }

    /// The whole address, in ASCII.
    let text: String
    let origin: Origin

    /// Parses an absolute URL, or the reference of a redirect at `base`. Returns nil for schemes other than `http` and
    /// `https`, and for malformed addresses.
    init?(_ url: LoadURL, base: WebAddress? = nil) {
      let slashes = Array("//".utf8)
      let path = url.rest.prefix { $0 != UInt8(ascii: "?") }
      let rest = (path.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 } + url.rest[path.endIndex...])[...]
      if url.scheme.isEmpty {
        guard let base else { return nil }
        if rest.starts(with: slashes) {
          guard let text = WebAddress.absolute(base.origin.scheme, rest) else { return nil }
          self.init(text, base: nil)
        } else if url.rest.isEmpty {
          self = base
        } else {
          self.init(LoadURL.encoded(rest), base: base.text)
        }
      } else {
        guard ["http", "https"].contains(url.scheme), rest.starts(with: slashes),
          let text = WebAddress.absolute(url.scheme, rest)
        else { return nil }
        self.init(text, base: nil)
      }
    }

    private init?(_ reference: String, base: String?) {
      guard let handle = curl_url() else { return nil }
      defer { curl_url_cleanup(handle) }
      if let base, curl_url_set(handle, CURLUPART_URL, base, 0) != CURLUE_OK { return nil }
      guard curl_url_set(handle, CURLUPART_URL, reference, 0) == CURLUE_OK,
        let text = WebAddress.part(CURLUPART_URL, handle), let scheme = WebAddress.part(CURLUPART_SCHEME, handle),
        let host = WebAddress.part(CURLUPART_HOST, handle), let port = WebAddress.part(CURLUPART_PORT, handle),
        ["http", "https"].contains(scheme)
      else { return nil }
      self.text = text
      // A host name with a dot at its end is the same host.
      let name = host.lowercased()
      origin = Origin(scheme: scheme, host: name.hasSuffix(".") ? String(name.dropLast()) : name, port: port)
    }

    /// User name, password, host and port, followed by path and query.
    private var parts: (authority: Substring, rest: Substring) {
      let text = text.drop { $0 != ":" }.dropFirst(3)
      let end = text.firstIndex { "/?#".contains($0) } ?? text.endIndex
      return (text[..<end], text[end...].prefix { $0 != "#" })
    }

    /// Whether the URL has a user name or a password.
    var hasUser: Bool { parts.authority.contains("@") }

    /// The address without a user name, and with a port only if it is not that of the scheme.
    var plainText: String {
      let isUsual = origin.port == (origin.scheme == "https" ? "443" : "80")
      return "\(origin.scheme)://\(origin.host)\(isUsual ? "" : ":\(origin.port)")\(parts.rest)"
    }

    private static func part(_ part: CURLUPart, _ handle: OpaquePointer) -> String? {
      var text: UnsafeMutablePointer<CChar>?
      let flags = part == CURLUPART_PORT ? UInt32(CURLU_DEFAULT_PORT) : 0
      guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
      defer { curl_free(text) }
      return String(cString: text)
    }

    /// Encodes `rest`, which begins with two slashes. Returns nil if there is no valid host.
    private static func absolute(_ scheme: String, _ rest: ArraySlice<UInt8>) -> String? {
      let rest = rest.dropFirst(2)
      let end = rest.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) } ?? rest.endIndex
      var authority = rest[..<end]
      var text = scheme + "://"
      if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
        text += LoadURL.encoded(authority[..<at]).replacing("@", with: "%40") + "@"
        authority = authority[(at + 1)...]
      }
      guard !authority.isEmpty, let authority = host(authority) else { return nil }
      return text + authority + LoadURL.encoded(rest[end...])
    }

    /// Returns host and port in ASCII. A name in another script becomes its ASCII form (IDNA), for which Foundation is
    /// used: libcurl would read the name in the locale of the process.
    private static func host(_ authority: ArraySlice<UInt8>) -> String? {
      let isAddress = authority.first == UInt8(ascii: "[")
      if authority.allSatisfy({ $0 > 0x20 && $0 < 0x7F && (isAddress || $0 != 0x25) }) {
        return String(validating: authority, as: UTF8.self)
      }
      guard let name = String(validating: LoadURL.decoded(authority), as: UTF8.self),
        name.unicodeScalars.allSatisfy({ $0.value > 0x20 && !"/?#@\\%".unicodeScalars.contains($0) }),
        let url = URL(string: "http://\(name)/")?.absoluteString.utf8.dropFirst(7).dropLast(),
        !isAddress, url.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"/?#@\\%".utf8.contains($0) })
      else { return nil }
      return String(url)
    }
  }
#endif
