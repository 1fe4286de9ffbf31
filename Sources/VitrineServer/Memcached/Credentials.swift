/// Names and passwords. A client must send one of these pairs before other requests.
public struct Credentials: Sendable {
  private let lines: [[UInt8]]

  /// Parses lines of the form `name:password`. Returns nil if there is no line, or if a line has another form.
  public init?(file text: String) {
    var lines: [[UInt8]] = []
    for line in text.split(whereSeparator: \.isNewline) {
      guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else { return nil }
      let (name, password) = (line[..<colon], line[line.index(after: colon)...])
      lines.append(Array("\(name) \(password)".utf8))
    }
    guard !lines.isEmpty else { return nil }
    self.lines = lines
  }

  /// Whether a value is a name and its password, separated by a space. The time depends only on the length of the
  /// value.
  func allow(_ value: [UInt8]) -> Bool {
    var isAllowed = false
    for line in lines where line.count == value.count {
      var difference: UInt8 = 0
      for index in line.indices { difference |= line[index] ^ value[index] }
      if difference == 0 { isAllowed = true }
    }
    return isAllowed
  }
}
