import CacheCtlKit
import Vitrine

enum HelpCommand: Command {
  private static let manual = Option("man", "print a manual page in roff: for man -l, or to install it")

  static let specification = CommandSpecification(
    name: "help", summary: "describe a command, with an example", positionals: [.optional("COMMAND")],
    options: [manual],
    examples: [
      .init("cachectl help put", "how to store a file"),
      .init("cachectl help put --man | man -l -", "the same as a manual page"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let isManual = arguments.has(manual)
    guard let word = arguments.positional(0) else {
      return try isManual ? printManual(output) : printOverview(output)
    }
    let name = String(decoding: word, as: UTF8.self)
    guard let command = Tool.commands.first(where: { $0.specification.name == name }) else {
      if let absence = PictureCommands.absence(of: name) ?? ServerCommands.absence(of: name) { throw absence }
      throw UsageError("no command '\(printable(word))'")
    }
    try output.write(
      isManual
        ? ManualPage.page(of: command.specification, version: CacheStore.version)
        : HelpText.text(for: command.specification))
    return .done
  }

  static func printOverview(_ output: Output) throws -> ExitStatus {
    try output.write(HelpText.overview(of: Tool.specifications, version: CacheStore.version))
    return .done
  }

  private static func printManual(_ output: Output) throws -> ExitStatus {
    try output.write(ManualPage.overview(of: Tool.specifications, version: CacheStore.version))
    return .done
  }
}
