import CacheCtlKit
import Vitrine

enum CompletionCommand: Command {
  static let specification = CommandSpecification(
    name: "completion", summary: "print a script that completes words in a shell", positionals: [.required("SHELL")],
    forms: [ShellCompletion.allCases.map(\.rawValue).joined(separator: "|")],
    notes: ["The script completes commands, options, and the values of options that have a fixed set."],
    examples: [
      .init("source <(cachectl completion bash)", "in this bash"),
      .init("cachectl completion zsh > ~/.zfunc/_cachectl", "in each zsh whose fpath has this folder"),
      .init("cachectl completion fish > ~/.config/fish/completions/cachectl.fish", "in each fish"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let word = arguments.positional(0) ?? []
    guard let shell = ShellCompletion(rawValue: String(decoding: word, as: UTF8.self)) else {
      throw UsageError("no completion for the shell '\(printable(word))'", command: specification.name)
    }
    try output.write(shell.script(for: Tool.specifications))
    return .done
  }
}
