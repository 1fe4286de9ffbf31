/// Names with their passwords, of which a client must send one before other requests.
public struct Credentials: Sendable {
  private let lines: [[UInt8]]

  /// Reads lines of the form `name:password`. Returns nil if there is none, or a line has another form.
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

  /// Whether a value is `name password`. Takes the same time for each wrong password of a length.
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
