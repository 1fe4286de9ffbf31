/// Help, laid out for 80 columns, from a command's specification.
public enum HelpText {
  static let width = 78

  public static func overview(of commands: [CommandSpecification], version: String) -> String {
    let names = commands.map(\.name)
    let column = names.map(\.count).max() ?? 0
    let list = commands.map { "  " + $0.name.padded(to: column) + "  " + $0.summary + "\n" }.joined()
    return """
      cachectl \(version): looks into Vitrine stores and changes them.

      usage: cachectl COMMAND STORE ...

      \(list)
      cachectl help COMMAND says more, with an example. cachectl --version says which
      version this is. '--' ends the options, so that a URL may begin with '-'.

      Exit status: 0 done, 1 problem found (damage, key not there), 2 usage,
      3 could not run (locked, not a store, I/O), 4 not kept (import, fetch: evicted
      again, because the budget holds less).

      """
  }

  public static func text(for command: CommandSpecification) -> String {
    var text = "cachectl \(command.name): \(command.summary)\n\n"
    for (index, form) in forms(of: command).enumerated() {
      text += wrapped(form, first: index == 0 ? "usage: " : "       ", rest: "         ")
    }
    if !command.options.isEmpty {
      text += "\n"
      let column = command.options.map { heading($0).count }.max() ?? 0
      for option in command.options {
        let first = "  " + heading(option).padded(to: column) + "  "
        text += wrapped(option.summary, first: first, rest: String(repeating: " ", count: first.count))
      }
    }
    for note in command.notes { text += "\n" + wrapped(note, first: "", rest: "") }
    text += command.examples.count == 1 ? "\nExample:\n" : "\nExamples:\n"
    for example in command.examples {
      let purpose = example.purpose.hasSuffix("?") ? example.purpose : example.purpose + ":"
      text += wrapped(purpose, first: "  ", rest: "  ") + "    \(example.command)\n"
    }
    return text
  }

  private static func forms(of command: CommandSpecification) -> [String] {
    if !command.forms.isEmpty { return command.forms.map { "cachectl \(command.name) \($0)" } }
    let words = command.positionals.map { positional in
      (positional.isRequired ? positional.name : "[\(positional.name)]") + (positional.isRepeatable ? " ..." : "")
    }
    let options = command.options.map { "[\(heading($0))]" + ($0.isRepeatable ? " ..." : "") }
    return [(["cachectl", command.name] + words + options).joined(separator: " ")]
  }

  private static func heading(_ option: Option) -> String {
    "--" + option.name + (option.valueName.map { " " + $0 } ?? "")
  }

  /// Breaks at spaces, but never inside square brackets.
  static func wrapped(_ text: String, first: String, rest: String) -> String {
    var lines: [String] = []
    var line = first
    var isEmpty = true
    for word in words(text) {
      if !isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = rest
        isEmpty = true
      }
      line += isEmpty ? word : " " + word
      isEmpty = false
    }
    lines.append(line)
    return lines.joined(separator: "\n") + "\n"
  }

  private static func words(_ text: String) -> [String] {
    var words: [String] = []
    var depth = 0
    for word in text.split(separator: " ") {
      if depth > 0 { words[words.count - 1] += " " + word } else { words.append(String(word)) }
      for character in word {
        if character == "[" { depth += 1 }
        if character == "]" { depth -= 1 }
      }
    }
    return words
  }
}
