import Foundation
import Testing

@testable import CacheCtlKit
@testable import CacheCtlTool

@Suite struct ShellCompletionTests {
  /// The words that bash offers for the last one.
  private func bashOffers(_ words: String...) throws -> Set<Substring> {
    let quoted = words.map { "'" + $0 + "'" }.joined(separator: " ")
    let program =
      ShellCompletion.bash.script(for: CacheCtlTool.Tool.specifications) + """
        COMP_WORDS=(\(quoted))
        COMP_CWORD=\(words.count - 1)
        _cachectl
        printf '%s\\n' "${COMPREPLY[@]}"
        """
    return Set(try output(of: ["bash", "-c", program]).split(separator: "\n"))
  }

  private func output(of words: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: data, as: UTF8.self)
  }

  @Test func bashOffersCommandsOptionsAndValues() throws {
    #expect(try bashOffers("cachectl", "st") == ["stat"])
    #expect(try bashOffers("cachectl", "").isSuperset(of: CacheCtlTool.Tool.specifications.map { Substring($0.name) }))
    #expect(try bashOffers("cachectl", "stat", "--j") == ["--json"])
    #expect(try bashOffers("cachectl", "put", "s", "--policy", "") == ["lru", "fifo", "s3fifo", "sieve"])
    #expect(try bashOffers("cachectl", "put", "s", "--budget", "--") == [])
    #expect(try bashOffers("cachectl", "help", "verif") == ["verify"])
    #expect(try bashOffers("cachectl", "completion", "f") == ["fish"])
    #expect(try bashOffers("cachectl", "none", "--") == [])
  }

  @Test func eachScriptNamesEachCommandAndOption() {
    for shell in ShellCompletion.allCases {
      let script = shell.script(for: CacheCtlTool.Tool.specifications)
      for command in CacheCtlTool.Tool.specifications {
        #expect(script.contains(command.name))
        for option in command.options {
          #expect(script.contains((shell == .fish ? "-l " : "--") + option.name), "\(shell) \(command.name)")
        }
      }
    }
  }

  /// `zsh` and `fish` are often not installed; their scripts are then not read by them.
  @Test(arguments: ShellCompletion.allCases) func shellReadsItsScript(_ shell: ShellCompletion) throws {
    let path = "/usr/bin/" + shell.rawValue
    guard FileManager.default.isExecutableFile(atPath: path) else { return }
    let option = shell == .fish ? "--no-execute" : "-n"
    let script = shell.script(for: CacheCtlTool.Tool.specifications)
    #expect(try output(of: [path, option, "-c", script]) == "")
  }

  @Test func quotesAndBracketsOfExplanationsAreEscaped() {
    let command = CommandSpecification(
      name: "odd", summary: "it's a\\b: [c]", positionals: [],
      options: [.init("value", value: "A=B[,C]", "a 'word' [in] brackets: so"), .init("kind", value: "x|y", "a kind")],
      examples: [.init("cachectl odd", "x")])
    let zsh = ShellCompletion.zsh.script(for: [command])
    #expect(zsh.contains("'--value[a '\\''word'\\'' \\[in\\] brackets\\: so]:A=B\\[,C\\]:_files'"))
    #expect(zsh.contains("'--kind[a kind]:x|y:(x y)'"))
    let fish = ShellCompletion.fish.script(for: [command])
    #expect(fish.contains("-a odd -d 'it\\'s a\\\\b: [c]'\n"))
    #expect(fish.contains("-l kind -d 'a kind' -x -a 'x y'\n"))
  }
}
