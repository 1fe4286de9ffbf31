/// The words of one command line, sorted by the command's specification.
///
/// Words are bytes, as the system passes them: a URL need not be UTF-8. `--` ends the options; a value follows its
/// option as the next word or after `=`. A value that begins with `--` must follow `=`, so that a forgotten value
/// does not consume the next option.
public struct Arguments: Sendable {
  public typealias Word = [UInt8]

  public let command: String
  public private(set) var positionals: [Word] = []
  /// Whether `--help` or `-h` was among the words. If so, nothing else is checked.
  public private(set) var wantsHelp = false
  private var values: [Option: [Word]] = [:]

  public init(_ words: some Sequence<Word>, for specification: CommandSpecification) throws(UsageError) {
    command = specification.name
    var rest = Array(words)[...]
    wantsHelp = rest.prefix { $0 != Array("--".utf8) }.contains { Self.isHelp($0) }
    if wantsHelp { return }

    while let word = rest.popFirst() {
      if word == Array("--".utf8) {
        positionals += rest
        break
      } else if word.starts(with: "--".utf8) {
        try takeOption(word.dropFirst(2), from: &rest, of: specification)
      } else if word.count > 1, word[0] == UInt8(ascii: "-") {
        throw fail("unknown option \(printable(word)) (put a word that begins with '-' after '--')")
      } else {
        positionals.append(word)
      }
    }
    try checkPositionals(specification)
  }

  /// Returns whether an option was given, with or without a value.
  public func has(_ option: Option) -> Bool { values[option] != nil }

  /// Returns the value of an option that is given at most once.
  public func value(_ option: Option) -> Word? { values[option]?.first }

  /// Returns all values of an option, in their order.
  public func values(_ option: Option) -> [Word] { values[option] ?? [] }

  /// Returns the positional at `index`, nil if it was left out.
  public func positional(_ index: Int) -> Word? { index < positionals.count ? positionals[index] : nil }

  /// Returns a usage error that refers to this command's help.
  public func fail(_ message: String) -> UsageError { UsageError(message, command: command) }

  private static func isHelp(_ word: Word) -> Bool {
    word == Array("--help".utf8) || word == Array("-h".utf8)
  }

  private mutating func takeOption(
    _ word: Word.SubSequence, from rest: inout ArraySlice<Word>, of specification: CommandSpecification
  ) throws(UsageError) {
    let parts = word.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts[0]
    guard let option = specification.options.first(where: { name.elementsEqual($0.name.utf8) }) else {
      throw fail("unknown option --\(printable(Array(name)))")
    }
    guard values[option] == nil || option.isRepeatable else { throw fail("--\(option.name) is given twice") }
    guard let valueName = option.valueName else {
      guard parts.count == 1 else { throw fail("--\(option.name) takes no value") }
      values[option] = [[]]
      return
    }
    if parts.count == 2 {
      values[option, default: []].append(Array(parts[1]))
    } else if let next = rest.first, !next.starts(with: "--".utf8) {
      values[option, default: []].append(next)
      rest.removeFirst()
    } else {
      throw fail("--\(option.name) needs a value: --\(option.name)=\(valueName)")
    }
  }

  private func checkPositionals(_ specification: CommandSpecification) throws(UsageError) {
    let needed = specification.positionals.prefix { $0.isRequired }
    if positionals.count < needed.count {
      let missing = needed[positionals.count...].map(\.name).joined(separator: " ")
      throw fail("missing \(missing)")
    }
    if positionals.count > specification.positionals.count, specification.positionals.last?.isRepeatable != true {
      let extra = positionals[specification.positionals.count]
      throw fail("one word too many: '\(printable(extra))'")
    }
  }
}
