/// The header fields that are kept in the metadata of an entry, as lines of the form `content-type: image/jpeg`.
enum ValueFields {
  private static let names = ["content-type", "cache-control"]
  /// Longer values are not kept and not sent.
  static let longestValue = 1024

  /// The lines of metadata for the fields of a request. Nil if one is too long.
  static func lines(_ head: RequestHead) -> [UInt8]? {
    var lines: [UInt8] = []
    for name in names {
      guard let value = head.value(of: name), !value.isEmpty else { continue }
      if value.utf8.count > longestValue { return nil }
      lines += "\(name): \(value)\n".utf8
    }
    return lines
  }

  /// The fields of an answer, from the metadata of an entry. A line that could break the head of the answer is left
  /// out.
  static func text(_ metadata: [UInt8]) -> String {
    var text = ""
    for name in names {
      let prefix = Array("\(name): ".utf8)
      let lines = metadata.split(separator: Byte.lineFeed)
      guard let line = lines.first(where: { $0.starts(with: prefix) }) else { continue }
      let value = line.dropFirst(prefix.count)
      guard !value.isEmpty, value.count <= longestValue,
        value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
        let string = String(validating: value, as: UTF8.self)
      else { continue }
      text += "\(title(name)): \(string)\r\n"
    }
    return text
  }

  private static func title(_ name: String) -> String { name == "content-type" ? "Content-Type" : "Cache-Control" }
}
