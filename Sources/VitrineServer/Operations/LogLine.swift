/// One line of a ``ServerLog`` in the form logfmt: `name=value` pairs with blanks between them.
///
/// A value stands in quotes if it is empty, or has a blank, a quote, a backslash, an equals sign, a control character
/// or a byte above 0x7E. In quotes, `\"` and `\\` stand for a quote and a backslash, and `\xNN` for a control character
/// or a byte above 0x7E. So no client can forge a line.
struct LogLine {
  private(set) var text: [UInt8]

  /// Begins a line with the time and the event's name.
  init(_ event: StaticString, peer: String? = nil, now: Int64 = Time.milliseconds()) {
    text = Array("time=\(Time.text(now)) event=\(event)".utf8)
    if let peer { add("peer", peer) }
  }

  mutating func add(_ name: StaticString, _ number: UInt64) { text += " \(name)=\(number)".utf8 }

  mutating func add(_ name: StaticString, _ value: String) { add(name, Array(value.utf8)) }

  /// Adds the first bytes of a value, up to 512.
  mutating func add(_ name: StaticString, _ value: [UInt8]) {
    text += " \(name)=".utf8
    let value = value.prefix(512)
    guard value.isEmpty || value.contains(where: LogLine.needsQuotes) else {
      text += value
      return
    }
    text.append(UInt8(ascii: "\""))
    for byte in value {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
        text += [UInt8(ascii: "\\"), byte]
      } else if byte < 0x20 || byte >= 0x7F {
        text += "\\x\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8
      } else {
        text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }

  private static func needsQuotes(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
      || byte == UInt8(ascii: "=")
  }
}
