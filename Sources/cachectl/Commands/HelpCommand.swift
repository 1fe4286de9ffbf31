import CacheCtlKit
import Vitrine

enum HelpCommand: Command {
  static let specification = CommandSpecification(
    name: "help", summary: "describe a command, with an example", positionals: [.optional("COMMAND")],
    examples: [.init("cachectl help put", "how to store a file")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    guard let word = arguments.positional(0) else { return try printOverview(output) }
    let name = String(decoding: word, as: UTF8.self)
    guard let command = Tool.commands.first(where: { $0.specification.name == name }) else {
      if let absence = PictureCommands.absence(of: name) { throw absence }
      throw UsageError("no command '\(printable(word))'")
    }
    try output.write(HelpText.text(for: command.specification))
    return .done
  }

  static func printOverview(_ output: Output) throws -> ExitStatus {
    let specifications = Tool.commands.map { $0.specification }
    try output.write(HelpText.overview(of: specifications, version: CacheStore.version))
    return .done
  }
}
