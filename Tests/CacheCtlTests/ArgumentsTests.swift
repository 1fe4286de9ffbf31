import CacheCtlKit
import Testing
import Vitrine

private let style = Option("style", value: "S", "")
private let output = Option("output", value: "FILE", "")
private let json = Option("json", "")
private let specification = CommandSpecification(
  name: "get", summary: "", positionals: [.required("STORE"), .required("URL"), .optional("FILE")],
  options: [style, output, json], examples: [])

private func parse(_ words: String...) throws(UsageError) -> Arguments {
  try Arguments(words.map { Array($0.utf8) }, for: specification)
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct ArgumentsTests {
  @Test func aValueFollowsItsOptionOrAnEqualsSign() throws {
    #expect(try parse("s", "u", "--style", "a").value(style) == bytes("a"))
    #expect(try parse("--style=a=b", "s", "u").value(style) == bytes("a=b"))
    #expect(try parse("s", "u", "--style=").value(style) == [])
  }

  @Test func anOptionMayStandAnywhereBeforeTheDoubleDash() throws {
    let arguments = try parse("s", "--json", "u")
    #expect(arguments.has(json))
    #expect(arguments.positionals == [bytes("s"), bytes("u")])
  }

  @Test func theDoubleDashEndsTheOptions() throws {
    let arguments = try parse("s", "--", "--json", "--")
    #expect(arguments.positionals == [bytes("s"), bytes("--json"), bytes("--")])
    #expect(!arguments.has(json))
  }

  @Test func singleDashIsAPositional() throws {
    #expect(try parse("s", "u", "-").positional(2) == bytes("-"))
    #expect(try parse("s", "u", "--output", "-").value(output) == bytes("-"))
  }

  @Test func repeatableValuesKeepTheirOrder() throws {
    let header = Option("header", value: "H", isRepeatable: true, "")
    let several = CommandSpecification(
      name: "get", summary: "", positionals: [.required("STORE"), .several("URL")], options: [header, json],
      examples: [])
    let words = ["s", "--header", "b", "u", "--header=", "v", "--header", "b", "--", "--w"]
    let arguments = try Arguments(words.map(bytes), for: several)
    #expect(arguments.values(header) == [bytes("b"), [], bytes("b")] && arguments.value(header) == bytes("b"))
    #expect(arguments.positionals == ["s", "u", "v", "--w"].map(bytes) && arguments.values(json) == [])
    #expect(throws: UsageError("missing URL", command: "get")) {
      try Arguments([bytes("s")], for: several)
    }
    #expect(throws: UsageError("--json is given twice", command: "get")) {
      try Arguments(["s", "u", "--json", "--json"].map(bytes), for: several)
    }
  }

  @Test func wordsNeedNotBeUTF8() throws {
    let arguments = try Arguments([bytes("s"), [0xFF, 0x41]], for: specification)
    #expect(arguments.positional(1) == [0xFF, 0x41])
  }

  @Test(arguments: [
    (["s", "u", "--colour"], "unknown option --colour"),
    (["s", "u", "-j"], "unknown option -j (put a word that begins with '-' after '--')"),
    (["s", "u", "--style"], "--style needs a value: --style=S"),
    (["s", "u", "--style", "--json"], "--style needs a value: --style=S"),
    (["s", "u", "--json=1"], "--json takes no value"),
    (["s", "u", "--json", "--json"], "--json is given twice"),
    (["s", "u", "--style=a", "--style", "a"], "--style is given twice"),
    (["s", "u", "f", "x\u{7}"], #"one word too many: 'x\x07'"#),
    (["s"], "missing URL"),
    ([], "missing STORE URL"),
  ])
  func usageErrorNamesTheInvalidWord(_ words: [String], _ message: String) {
    #expect(throws: UsageError(message, command: "get")) {
      try Arguments(words.map { Array($0.utf8) }, for: specification)
    }
  }

  @Test func aUsageErrorPointsAtTheHelp() {
    #expect(
      UsageError("missing URL", command: "get").report
        == "cachectl get: missing URL\nTry 'cachectl help get'.\n")
    #expect(UsageError("which command?").report == "cachectl: which command?\nTry 'cachectl help'.\n")
  }

  @Test func helpIsShownForAnyIncompleteLine() throws {
    #expect(try parse("--colour", "--help").wantsHelp)
    #expect(try parse("-h").wantsHelp)
    #expect(try !parse("s", "--", "--help").wantsHelp)
  }
}

@Suite struct ArgumentValuesTests {
  private static let value = Option("value", value: "V", "")

  private func arguments(_ value: String) throws -> Arguments {
    let specification = CommandSpecification(
      name: "put", summary: "", positionals: [], options: [Self.value], examples: [])
    return try Arguments([Array("--value=\(value)".utf8)], for: specification)
  }

  @Test func aBitmapIsWidthHeightAndFormatInAnyCase() throws {
    let layout = try #require(try arguments("60x40:bgra8888").bitmapLayout(Self.value))
    #expect(layout == BitmapLayout(width: 60, height: 40, format: .bgra8888))
    #expect(layout.byteCount == 60 * 40 * 4)
  }

  @Test(arguments: [
    "", "60x40", "60:BGRA8888", "0x4:Gray8", "65536x1:Gray8", "-1x4:Gray8", "6x4:PNG", "6x4x2:Gray8",
    "6x4:Gray8:", "99999999999999999999x1:Gray8",
  ])
  func aBitmapOfAnotherShapeIsRefused(_ text: String) throws {
    let arguments = try arguments(text)
    #expect(throws: UsageError.self) { try arguments.bitmapLayout(Self.value) }
  }

  @Test func timeToLiveCountsFromNow() throws {
    #expect(try arguments("60").expiration(Self.value, nowMilliseconds: 5) == 60_005)
    #expect(try arguments("0").expiration(Self.value, nowMilliseconds: 5) == 5)
  }

  @Test(arguments: ["", "-1", "1.5", "1h", "9223372036854775807", "9223372036854775", "99999999999999999999"])
  func invalidOrTooLongTimeToLiveIsRefused(_ text: String) throws {
    let arguments = try arguments(text)
    #expect(throws: UsageError.self) {
      try arguments.expiration(Self.value, nowMilliseconds: 1_700_000_000_000)
    }
  }

  @Test(arguments: ["", "jpeg", "image/", "/jpeg", " image/jpeg", "image/jpeg\nx: y", "image/jpég"])
  func aContentTypeThatWouldNotFitOneLineOfMetadataIsRefused(_ text: String) throws {
    let arguments = try arguments(text)
    #expect(throws: UsageError.self) { try arguments.contentType(Self.value) }
  }

  @Test(arguments: ["", "a b", "ä", "a\u{7F}"])
  func aStyleOutsidePrintableASCIIIsRefused(_ text: String) throws {
    let arguments = try arguments(text)
    #expect(throws: UsageError.self) { try arguments.style(Self.value) }
  }

  @Test func textThatIsNotUTF8IsRefusedRatherThanReplaced() throws {
    let arguments = try arguments("x")
    #expect(throws: UsageError.self) { try arguments.text([0xC3, 0x28], "the path") }
    #expect(try arguments.text(Array("ä".utf8), "the path") == "ä")
  }
}
