/// Bytes as one line for a terminal: control characters and bytes that are not UTF-8 become `\xNN`, a backslash
/// becomes two. So no stored bytes can move the cursor of a terminal.
public func printable(_ bytes: [UInt8]) -> String {
  var text = ""
  var rest = bytes[...]
  while let byte = rest.first {
    if byte < 0x80 {
      switch byte {
      case 0x5C: text += "\\\\"
      case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
      default: text += escape(byte)
      }
      rest.removeFirst()
      continue
    }
    // The shortest prefix that is valid is one character.
    let length = (2...4).first {
      $0 <= rest.count && String(validating: rest.prefix($0), as: UTF8.self) != nil
    }
    if let length, let scalar = String(decoding: rest.prefix(length), as: UTF8.self).unicodeScalars.first,
      isVisible(scalar)
    {
      text.unicodeScalars.append(scalar)
      rest.removeFirst(length)
    } else {
      text += escape(byte)
      rest.removeFirst()
    }
  }
  return text
}

private func escape(_ byte: UInt8) -> String {
  "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
}

private func isVisible(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
  default: true
  }
}
