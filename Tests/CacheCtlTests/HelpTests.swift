import Testing

@testable import CacheCtlKit

@Suite struct HelpTests {
  @Test func helpIsLaidOutForEightyColumns() {
    let option = Option("colour", value: "NAME", String(repeating: "word ", count: 40))
    let command = CommandSpecification(
      name: "paint", summary: "paint it", positionals: [.required("STORE"), .optional("FILE")],
      options: [option, Option("json", "as JSON")], notes: [String(repeating: "note ", count: 60)],
      examples: [.init("cachectl paint s", "paint")])
    let text = HelpText.text(for: command)
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    #expect(text.contains("usage: cachectl paint STORE [FILE] [--colour NAME] [--json]\n"))
    #expect(text.contains("    cachectl paint s\n"))
  }

  @Test func lineBreakNeverSeparatesAnOptionFromItsValue() {
    let form = "cachectl x " + String(repeating: "[--option VALUE] ", count: 12)
    for line in HelpText.wrapped(form, first: "usage: ", rest: "  ").split(separator: "\n") {
      #expect(line.filter { $0 == "[" }.count == line.filter { $0 == "]" }.count)
    }
  }

  @Test func helpMarksRepeatableOptions() {
    let command = CommandSpecification(
      name: "paint", summary: "paint it", positionals: [.required("STORE"), .several("URL")],
      options: [Option("style", value: "S", isRepeatable: true, "a style"), Option("json", "as JSON")],
      examples: [.init("cachectl paint s u", "paint")])
    #expect(HelpText.text(for: command).contains("usage: cachectl paint STORE URL ... [--style S] ... [--json]\n"))
  }
}
