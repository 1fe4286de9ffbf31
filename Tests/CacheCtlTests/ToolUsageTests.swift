import Testing

@testable import CacheCtlTool

/// The messages of the tool before it touches any store.
@Suite struct ToolUsageTests {
  static let commands =
    [
      "stat", "verify", "compact", "repair", "dump", "ls", "get", "put", "rm", "import", "export", "bench", "replay",
      "help",
    ]
    + (PictureCommands.all + ServerCommands.all).map { $0.specification.name }

  @Test(arguments: commands)
  func everyCommandHasHelpWithAnExampleInEightyColumns(_ command: String) throws {
    let help = try Tool().run("help", command)
    #expect(help.status == 0)
    #expect(help.text.contains("usage: cachectl \(command)"))
    #expect(help.text.contains("Example"))
    #expect(help.text.contains("\n    cachectl \(command)") || help.text.contains("| cachectl \(command)"))
    #expect(help.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    #expect(try Tool().run(command, "--help").text == help.text)
    #expect(try Tool().run("help").text.contains("  \(command) "))
  }

  @Test(arguments: commands)
  func unknownOptionIsNamedWithAPointerToHelp(_ command: String) throws {
    let outcome = try Tool().run(command, "--frob")
    #expect(outcome.status == 2)
    #expect(outcome.output.isEmpty)
    #expect(
      outcome.diagnostics == "cachectl \(command): unknown option --frob\nTry 'cachectl help \(command)'.\n")
  }

  @Test func missingOrUnknownCommandIsAUsageError() throws {
    #expect(try Tool().run().status == 2)
    #expect(try Tool().run("frob").diagnostics.contains("'frob'"))
    #expect(try Tool().run("--frob").status == 2)
    #expect(try Tool().run("help", "frob").status == 2)
  }

  @Test func absentPictureCommandSaysHowToGetIt() throws {
    #expect(PictureCommands.all.map { $0.specification.name } == PictureCommands.names)
    for command in PictureCommands.names {
      let absence = try #require(PictureCommands.absence(of: command))
      #expect(absence.status == .usage)
      #expect(absence.message.contains("without the package trait Images") && absence.message.contains("make build"))
    }
    #expect(PictureCommands.absence(of: "frob") == nil)
  }

  @Test func theVersionIsOneLine() throws {
    let outcome = try Tool().run("--version")
    #expect(outcome.status == 0)
    #expect(outcome.text.hasPrefix("cachectl "))
    #expect(outcome.text.filter { $0 == "\n" }.count == 1)
  }

  @Test(arguments: [
    ["put", "s", "u", "-", "--budget", "5M"], ["put", "s", "u", "-", "--budget", "99999999TiB"],
    ["put", "s", "u", "-", "--entries=-1"], ["put", "s", "u", "-", "--ttl", "soon"],
    ["put", "s", "u", "-", "--type", "jpeg"], ["put", "s", "u", "-", "--bitmap", "2x2"],
    ["put", "s", "u", "-", "--bitmap", "2x2:RGBA8888"], ["put", "s", "u", "-", "--style", "a b"],
    ["put", "s", "u", "-", "--sync", "--sync"], ["put", "", "u", "-"], ["rm", "s"],
    ["rm", "s", "u", "--prefix", "p"],
    ["rm", "s", "--prefix", "p", "--all-styles"], ["rm", "s", "u", "--style", "a", "--all-styles"],
    ["put", "s", "u", "-", "--policy", "mru"], ["put", "s", "u", "-", "--policy="],
    ["import", "s", ".", "--policy", "LRU"], ["import", "s", ".", "--entries", "many"], ["compact", "s", "t"],
    ["import", "s", ".", "--budget="], ["ls", "s", "--style="], ["get", "s"], ["stat", "s", "t"],
  ])
  func aValueThatMakesNoSenseIsAUsageErrorAndMakesNoStore(_ words: [String]) throws {
    let tool = try Tool()
    let outcome = try tool.run(words)
    #expect(outcome.status == 2)
    #expect(outcome.diagnostics.contains("Try 'cachectl help \(words[0])'."))
    #expect(tool.read("s/STORE") == nil)
  }

  @Test func missingFileMakesNoStore() throws {
    let tool = try Tool()
    let put = try tool.run("put", "s", "u", "nofile")
    #expect(put.status == 3)
    #expect(put.diagnostics == "cachectl put: open nofile: No such file or directory\n")
    #expect(try tool.run("import", "s", "nofolder").status == 3)
    #expect(tool.read("s/STORE") == nil)
  }
}
