/// Manual pages in the macros of man(7), from the specifications of the commands.
public enum ManualPage {
  /// The page `cachectl(1)`.
  public static func overview(of commands: [CommandSpecification], version: String) -> String {
    var page = title("cachectl", version)
    page += section("NAME") + text("cachectl \\- look into Vitrine stores and change them", isRoff: true)
    page += section("SYNOPSIS") + text("\\fBcachectl\\fR \\fICOMMAND STORE\\fR ...", isRoff: true)
    page += section("DESCRIPTION")
    page += text("A Vitrine store is a folder that keeps pictures and other values for programs.")
    page += section("COMMANDS")
    for command in commands { page += item("cachectl\\-\(escaped(command.name))(1)", command.summary) }
    page += section("OPTIONS")
    page += item("\\-\\-version", "print the version, and that of the format of stores")
    page += item("\\-\\-help", "print the commands")
    page += item("\\-\\-", "end the options, so that a URL may begin with '-'")
    return page + exitStatus
  }

  /// The page `cachectl-NAME(1)` of a command.
  public static func page(of command: CommandSpecification, version: String) -> String {
    var page = title("cachectl-\(command.name)", version)
    page += section("NAME") + text("cachectl\\-\(escaped(command.name)) \\- \(escaped(command.summary))", isRoff: true)
    page += section("SYNOPSIS")
    for (index, form) in command.usage.enumerated() { page += (index == 0 ? "" : ".br\n") + text(form) }
    if !command.notes.isEmpty {
      page += section("DESCRIPTION")
      for (index, note) in command.notes.enumerated() { page += (index == 0 ? "" : ".PP\n") + text(note) }
    }
    if !command.options.isEmpty {
      page += section("OPTIONS")
      for option in command.options {
        let value = option.valueName.map { " \\fI\(escaped($0))\\fR" } ?? ""
        page += item("\\-\\-\(escaped(option.name))", option.summary, value: value)
      }
    }
    page += section(command.examples.count == 1 ? "EXAMPLE" : "EXAMPLES")
    for example in command.examples { page += ".TP\n" + text(example.purpose) + text("$ " + example.command) }
    return page + exitStatus + section("SEE ALSO") + text("\\fBcachectl\\fR(1)", isRoff: true)
  }

  private static var exitStatus: String {
    section("EXIT STATUS") + ExitStatusText.meanings.map { item("\($0.status)", $0.meaning) }.joined()
  }

  private static func title(_ name: String, _ version: String) -> String {
    ".TH \"\(escaped(name.uppercased()))\" 1 \"\" \"Vitrine \(escaped(version))\" \"Vitrine\"\n.nh\n.ad l\n"
  }

  private static func section(_ name: String) -> String { ".SH \(name)\n" }

  /// A term in bold, given in roff, with the text that explains it. The term may have a value, in roff.
  private static func item(_ term: String, _ explanation: String, value: String = "") -> String {
    ".TP\n\\fB\(term)\\fR\(value)\n" + text(explanation)
  }

  private static func text(_ text: String, isRoff: Bool = false) -> String { line(isRoff ? text : escaped(text)) }

  /// A line that roff does not take for a request.
  private static func line(_ text: String) -> String {
    (text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : "") + text + "\n"
  }

  /// The text with the characters that roff would interpret or replace. A line break becomes a blank.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "\"": result += "\\(dq"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "\n", "\r\n": result += " "
      default: result.append(character)
      }
    }
    return result
  }
}
