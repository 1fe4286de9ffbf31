import Vitrine

/// The header fields by which `CacheClient` gets all properties of an entry, and values as files.
enum ClientFields {
  /// A request with this field gets all properties of the entry. With the value `descriptor`, it accepts a descriptor
  /// in place of the bytes. The field counts only if `Connection` names it, so no proxy passes it on: behind a proxy,
  /// the descriptor would be lost, and an answer without bytes could be kept for other clients.
  private static let acceptance = "vitrine-accept"
  /// A request with this field releases passed values by their handles.
  static let release = "vitrine-release"
  /// The place of a passed value: its handle, its offset in the file, and its number of bytes.
  static let place = "Vitrine-Place"
  /// The metadata of an entry in Base64. In a `PUT` it replaces `Content-Type` and `Cache-Control`; in an answer it is
  /// sent beside them.
  static let metadata = "Vitrine-Metadata"
  /// The time at which an entry expires, in milliseconds since 1970.
  static let expiry = "Vitrine-Expires"

  static func wantsProperties(_ head: RequestHead) -> Bool {
    head.value(of: acceptance) != nil && head.isOfThisConnection(acceptance)
  }

  static func acceptsDescriptor(_ head: RequestHead) -> Bool {
    wantsProperties(head) && head.value(of: acceptance) == "descriptor"
  }

  /// The properties of an entry.
  static func text(metadata: [UInt8], expirationMilliseconds: Int64?) -> String {
    var text = metadata.isEmpty ? "" : "\(ClientFields.metadata): \(Base64.encode(metadata))\r\n"
    if let expirationMilliseconds { text += "\(expiry): \(expirationMilliseconds)\r\n" }
    return text
  }

  /// The metadata that a request gives, or nil.
  static func metadata(of head: RequestHead) throws(RequestHead.Refusal) -> [UInt8]? {
    guard let text = head.value(of: metadata.lowercased()) else { return nil }
    if let bytes = Base64.decode(Array(text.utf8)) { return bytes }
    throw RequestHead.Refusal(status: .badRequest, text: "\(metadata) is not Base64")
  }

  /// The expiry that a request gives; never if it gives none.
  static func expiry(of head: RequestHead) throws(RequestHead.Refusal) -> ExpiryTime {
    guard let text = head.value(of: expiry.lowercased()) else { return .never }
    guard let moment = Int64(text) else {
      throw RequestHead.Refusal(status: .badRequest, text: "\(expiry) is not a time in milliseconds since 1970")
    }
    return moment <= Time.milliseconds() ? .past : .at(moment)
  }
}
