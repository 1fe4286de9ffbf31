import Vitrine

/// The reports, the log, and the rules for access that all HTTP connections of a server share.
struct HTTPSite: Sendable {
  let reports: any OperationsReports
  let isReadOnly: Bool
  let credentials: Credentials?
  let log: ServerLog?
  /// Makes the pictures of `/image/`. Nil refuses them.
  var pictures: (any PictureMaking)?

  static let readingMethods = "GET, HEAD"
  static let allMethods = "GET, HEAD, PUT, DELETE"
  static let textFields =
    "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
  static let metricsFields = "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n"
  /// A page without scripts, and without anything from elsewhere.
  static let pageFields =
    "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
    + "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
  /// A value that is a page runs no script in the name of this server.
  static let valueFields = "X-Content-Type-Options: nosniff\r\nContent-Security-Policy: sandbox\r\n"

  struct Refusal {
    let status: HTTPStatus
    let text: String
    var fields = ""
  }

  /// Returns the refusal of a request without valid credentials, of a change on a read-only server, and of a change by
  /// a page in a browser; nil for other requests. `/health` needs no password.
  func refusal(of head: RequestHead, _ path: RequestPath) -> Refusal? {
    if path != .health, let credentials, !HTTPSite.allows(credentials, head.value(of: "authorization")) {
      return Refusal(
        status: .unauthorized, text: "a name and a password are needed",
        fields: "WWW-Authenticate: Basic realm=\"vitrine\", charset=\"UTF-8\"\r\n")
    }
    guard case .value = path, head.method == .put || head.method == .delete else { return nil }
    if isReadOnly {
      return Refusal(
        status: .methodNotAllowed, text: "this server is read-only", fields: "Allow: \(HTTPSite.readingMethods)\r\n")
    }
    // Browsers send this field with each change that a page requests, also if the host name of the page resolves to
    // this address.
    if head.value(of: "origin") != nil {
      return Refusal(status: .forbidden, text: "pages in a browser may not change values")
    }
    return nil
  }

  /// Whether a field has a name and its password in the basic scheme (RFC 7617).
  private static func allows(_ credentials: Credentials, _ field: String?) -> Bool {
    guard let field, field.utf8.count <= 2048, field.lowercased().hasPrefix("basic "),
      var value = Base64.decode(Array(field.utf8.dropFirst(6))), let colon = value.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    value[colon] = Byte.blank
    return credentials.allow(value)
  }
}
