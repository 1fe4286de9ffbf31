import Vitrine

/// Values of options, each parsed in one place, with a usage error that describes a valid value.
extension Arguments {
  /// Returns text for an argument that the engine or the system takes as a string.
  public func text(_ word: Word, _ name: String) throws(UsageError) -> String {
    guard let text = String(validating: word, as: UTF8.self) else {
      throw fail("\(name) is not UTF-8: '\(printable(word))'")
    }
    return text
  }

  public func style(_ option: Option) throws(UsageError) -> Style? {
    guard let word = value(option) else { return nil }
    guard let style = Style(String(decoding: word, as: UTF8.self)) else {
      throw fail(
        "--\(option.name): '\(printable(word))' is not a style (1 to 255 printable ASCII characters, no space)")
    }
    return style
  }

  public func size(_ option: Option) throws(UsageError) -> Int? {
    guard let word = value(option) else { return nil }
    guard let size = Size.parse(String(decoding: word, as: UTF8.self)) else {
      throw fail(
        "--\(option.name): '\(printable(word))' is not a size (500MB, 2GiB, 1.5GB, 64KiB or plain bytes)")
    }
    return size
  }

  /// Returns a time in seconds.
  public func seconds(_ option: Option) throws(UsageError) -> Int? {
    guard let word = value(option) else { return nil }
    guard let seconds = TimeSpan.seconds(String(decoding: word, as: UTF8.self)) else {
      throw fail("--\(option.name): '\(printable(word))' is not a time (90s, 30min, 12h, 7d, 2w or plain seconds)")
    }
    return seconds
  }

  /// Returns a whole number that is not negative.
  public func count(_ option: Option) throws(UsageError) -> Int? {
    guard let word = value(option) else { return nil }
    guard !word.isEmpty, word.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = Int(String(decoding: word, as: UTF8.self))
    else { throw fail("--\(option.name): '\(printable(word))' is not a whole number") }
    return count
  }

  /// Parses `STYLE=LIMIT[,LIMIT]` for each time that the option is given, or `none`.
  public func styleBudgets(_ option: Option) throws(UsageError) -> [Style: StyleBudget]? {
    let words = values(option)
    if words.isEmpty { return nil }
    if words == [Array("none".utf8)] { return [:] }
    var budgets: [Style: StyleBudget] = [:]
    for word in words {
      guard let (style, budget) = styleBudget(String(decoding: word, as: UTF8.self)) else {
        throw fail(
          "--\(option.name): '\(printable(word))' is not STYLE=LIMIT with a number of entries (250), bytes with a unit "
            + "(40MB), or both (250,40MB)")
      }
      if budgets.updateValue(budget, forKey: style) != nil {
        throw fail("--\(option.name): style \(style) is given twice")
      }
    }
    return budgets
  }

  private func styleBudget(_ text: String) -> (Style, StyleBudget)? {
    guard let equals = text.lastIndex(of: "="), let style = Style(String(text[..<equals])) else { return nil }
    var budget = StyleBudget()
    for limit in text[text.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false) {
      if let count = Int(limit), limit.allSatisfy(\.isNumber), budget.count == nil {
        budget.count = count
      } else if let size = Size.parse(String(limit)), !limit.allSatisfy(\.isNumber), budget.byteCount == nil {
        budget.byteCount = size
      } else {
        return nil
      }
    }
    return (style, budget)
  }

  public func policy(_ option: Option) throws(UsageError) -> EvictionPolicy? {
    guard let word = value(option) else { return nil }
    guard let policy = EvictionPolicy(name: String(decoding: word, as: UTF8.self)) else {
      let names = EvictionPolicy.allCases.map(\.name).joined(separator: ", ")
      throw fail("--\(option.name): '\(printable(word))' is not a policy (\(names))")
    }
    return policy
  }

  public func reads(_ option: Option) throws(UsageError) -> ReadMode? {
    guard let word = value(option) else { return nil }
    guard let found = ReadMode.byName.first(where: { word.elementsEqual($0.name.utf8) }) else {
      let names = ReadMode.byName.map(\.name).joined(separator: " or ")
      throw fail("--\(option.name): '\(printable(word))' is not a way of reading (\(names))")
    }
    return found.mode
  }

  /// Returns the end of a time to live in seconds, in milliseconds since 1970.
  public func expiration(_ option: Option, nowMilliseconds: Int64) throws(UsageError) -> Int64? {
    guard let seconds = try count(option) else { return nil }
    let (milliseconds, overflow) = Int64(seconds).multipliedReportingOverflow(by: 1000)
    let (moment, tooLate) = nowMilliseconds.addingReportingOverflow(milliseconds)
    if overflow || tooLate { throw fail("--\(option.name): \(seconds) seconds are too many") }
    return moment
  }

  /// Parses `WIDTHxHEIGHT:FORMAT`, rows packed.
  public func bitmapLayout(_ option: Option) throws(UsageError) -> BitmapLayout? {
    guard let word = value(option) else { return nil }
    let text = String(decoding: word, as: UTF8.self)
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let sides = parts[0].split(separator: "x", omittingEmptySubsequences: false)
    guard parts.count == 2, sides.count == 2, let width = side(sides[0]), let height = side(sides[1]),
      let format = PixelFormat(name: String(parts[1])),
      let layout = BitmapLayout(width: width, height: height, format: format)
    else {
      let formats = PixelFormat.allCases.map(\.name).joined(separator: ", ")
      throw fail(
        "--\(option.name): '\(printable(word))' is not WIDTHxHEIGHT:FORMAT with sides of 1 to 65535 and one of "
          + "\(formats)"
      )
    }
    return layout
  }

  /// Returns a content type that fits on one line of metadata.
  public func contentType(_ option: Option) throws(UsageError) -> String? {
    guard let word = value(option) else { return nil }
    let parts = word.split(separator: UInt8(ascii: "/"), maxSplits: 1)
    guard word.count <= 255, word.allSatisfy({ (0x20...0x7E).contains($0) }), parts.count == 2,
      word.first != 0x20, word.last != 0x20
    else { throw fail("--\(option.name): '\(printable(word))' is not a content type such as image/jpeg") }
    return String(decoding: word, as: UTF8.self)
  }

  private func side(_ text: Substring) -> Int? {
    text.allSatisfy { $0.isASCII && $0.isNumber } ? Int(text) : nil
  }
}

extension ReadMode {
  /// By the names on a command line.
  public static let byName: [(name: String, mode: ReadMode)] = [("mapped", .mapped), ("copied", .copied)]

  /// Returns text to append to an error of a refused mapping, which some network and FUSE file systems report; nil
  /// for every other error.
  public static func hint(for error: StoreError) -> String? {
    switch error {
    case .system(let error) where error.operation == "map", .writeFailed(let error) where error.operation == "map":
      "; the system refused a shared mapping, and --reads copied needs none"
    default: nil
    }
  }
}
