/// A JSON value that keeps the order of its members.
public indirect enum JSON: Sendable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([JSON])
  case object([(String, JSON)])

  /// On one line, without a line feed.
  public var line: String {
    var text = ""
    write(to: &text)
    return text
  }

  /// On several lines for people; short values stay on one. Ends with a line feed.
  public var document: String {
    var text = ""
    writeDocument(to: &text, indentation: 0, room: 78)
    return text + "\n"
  }

  private func write(to text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .int(let value): text += String(value)
    case .double(let value): text += value.isFinite ? "\(value)" : "null"
    case .string(let value): JSON.writeQuoted(value, to: &text)
    case .array(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += ", " }
        value.write(to: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (index, (name, value)) in members.enumerated() {
        if index > 0 { text += ", " }
        JSON.writeQuoted(name, to: &text)
        text += ": "
        value.write(to: &text)
      }
      text += "}"
    }
  }

  private func writeDocument(to text: inout String, indentation: Int, room: Int) {
    let inline = line
    if inline.utf8.count <= room {
      text += inline
      return
    }
    let inner = String(repeating: " ", count: indentation + 2)
    let outer = String(repeating: " ", count: indentation)
    switch self {
    case .array(let values):
      text += "[\n"
      for (index, value) in values.enumerated() {
        text += inner
        value.writeDocument(to: &text, indentation: indentation + 2, room: 76 - indentation)
        text += index + 1 < values.count ? ",\n" : "\n"
      }
      text += outer + "]"
    case .object(let members):
      text += "{\n"
      for (index, (name, value)) in members.enumerated() {
        text += inner
        JSON.writeQuoted(name, to: &text)
        text += ": "
        value.writeDocument(to: &text, indentation: indentation + 2, room: 72 - indentation - name.utf8.count)
        text += index + 1 < members.count ? ",\n" : "\n"
      }
      text += outer + "}"
    case .null, .bool, .int, .double, .string:
      text += inline
    }
  }

  private static func writeQuoted(_ value: String, to text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{00}"..."\u{1F}", "\u{7F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}

extension JSON {
  public static func optional(_ value: Int64?) -> JSON { value.map { .int(Int($0)) } ?? .null }
  public static func optional(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }

  /// Rounded to `places`, so that reports show no noise.
  public static func rounded(_ value: Double, places: Int) -> JSON {
    let scale = (0..<places).reduce(1.0) { scale, _ in scale * 10 }
    return .double((value * scale).rounded() / scale)
  }
}
