import Testing

@testable import CacheCtlKit
@testable import CacheCtlTool

@Suite struct ManualPageTests {
  private let macros: Set<Substring> = [".TH", ".SH", ".TP", ".PP", ".br", ".nh", ".ad"]

  /// The pages of the tool by name, with their roff.
  private var pages: [(name: String, roff: String)] {
    [("cachectl", ManualPage.overview(of: CacheCtlTool.Tool.specifications, version: "1.2.3"))]
      + CacheCtlTool.Tool.specifications.map { ("cachectl-\($0.name)", ManualPage.page(of: $0, version: "1.2.3")) }
  }

  @Test func linesThatBeginWithADotAreKnownMacros() {
    for (name, roff) in pages {
      for line in roff.split(separator: "\n") where line.first == "." || line.first == "'" {
        #expect(macros.contains(line.prefix { $0 != " " }), "\(name): \(line)")
      }
      #expect(roff.hasPrefix(".TH \"CACHECTL") && roff.contains("\n.SH NAME\n") && roff.hasSuffix("\n"))
    }
  }

  @Test func pageHasEachOptionExampleAndStatus() {
    for command in CacheCtlTool.Tool.specifications {
      let roff = ManualPage.page(of: command, version: "1.2.3")
      for option in command.options {
        #expect(roff.contains("\n\\fB\\-\\-" + option.name.replacing("-", with: "\\-") + "\\fR"), "\(command.name)")
      }
      #expect(roff.components(of: "\n$ cachectl").count - 1 + command.foreignExampleCount == command.examples.count)
      for (status, _) in ExitStatusText.meanings { #expect(roff.contains("\n\\fB\(status)\\fR\n")) }
    }
  }

  @Test func charactersOfRoffAreEscaped() {
    let command = CommandSpecification(
      name: "odd", summary: ".dots 'quotes' a\\b -1", positionals: [], notes: ["'first", ".second\n.third"],
      examples: [.init("echo \"x\" | cat ~/`y`^", ".purpose")])
    let roff = ManualPage.page(of: command, version: "1")
    #expect(roff.contains("cachectl\\-odd \\- .dots \\(aqquotes\\(aq a\\eb \\-1\n"))
    #expect(roff.contains("\n\\(aqfirst\n.PP\n\\&.second .third\n"))
    #expect(roff.contains("\n.TP\n\\&.purpose\n$ echo \\(dqx\\(dq | cat \\(ti/\\(gay\\(ga\\(ha\n"))
  }
}

extension String {
  fileprivate func components(of separator: String) -> [Substring] {
    split(separator: separator, omittingEmptySubsequences: false)
  }
}

extension CommandSpecification {
  /// The number of examples that begin with another word.
  fileprivate var foreignExampleCount: Int { examples.count { !$0.command.hasPrefix("cachectl") } }
}
