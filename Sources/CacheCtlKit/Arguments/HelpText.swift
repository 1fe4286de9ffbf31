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


      """ + wrapped(ExitStatusText.sentence, first: "", rest: "")
  }

  public static func text(for command: CommandSpecification) -> String {
    var text = "cachectl \(command.name): \(command.summary)\n\n"
    for (index, form) in command.usage.enumerated() {
      text += wrapped(form, first: index == 0 ? "usage: " : "       ", rest: "         ")
    }
    if !command.options.isEmpty {
      text += "\n"
      let column = command.options.map { $0.heading.count }.max() ?? 0
      for option in command.options {
        let first = "  " + option.heading.padded(to: column) + "  "
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
