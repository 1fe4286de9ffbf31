/// The arguments of a command and its help text. Parsing and help both derive from it, so they cannot disagree.
public struct CommandSpecification: Sendable {
  public struct Positional: Sendable {
    public let name: String
    public let isRequired: Bool
    /// Takes all remaining words, so it is the last one.
    public let isRepeatable: Bool

    public static func required(_ name: String) -> Positional {
      Positional(name: name, isRequired: true, isRepeatable: false)
    }
    public static func optional(_ name: String) -> Positional {
      Positional(name: name, isRequired: false, isRepeatable: false)
    }
    /// Takes one or more words.
    public static func several(_ name: String) -> Positional {
      Positional(name: name, isRequired: true, isRepeatable: true)
    }
  }

  public struct Example: Sendable {
    public let command: String
    public let purpose: String

    public init(_ command: String, _ purpose: String) {
      self.command = command
      self.purpose = purpose
    }
  }

  public let name: String
  /// One line, for the list of commands.
  public let summary: String
  public let positionals: [Positional]
  public let options: [Option]
  /// The words after `cachectl NAME`, one entry for each form; derived from the other fields when empty.
  public let forms: [String]
  /// Paragraphs, wrapped when printed.
  public let notes: [String]
  public let examples: [Example]

  public init(
    name: String, summary: String, positionals: [Positional], options: [Option] = [], forms: [String] = [],
    notes: [String] = [], examples: [Example]
  ) {
    self.name = name
    self.summary = summary
    self.positionals = positionals
    self.options = options
    self.forms = forms
    self.notes = notes
    self.examples = examples
  }

  /// The forms of the whole command line, at least one.
  var usage: [String] {
    if !forms.isEmpty { return forms.map { "cachectl \(name) \($0)" } }
    let words = positionals.map { positional in
      (positional.isRequired ? positional.name : "[\(positional.name)]") + (positional.isRepeatable ? " ..." : "")
    }
    let options = options.map { "[\($0.heading)]" + ($0.isRepeatable ? " ..." : "") }
    return [(["cachectl", name] + words + options).joined(separator: " ")]
  }
}

/// One `--option`, with or without a value.
public struct Option: Sendable, Hashable {
  /// Without the dashes.
  public let name: String
  /// The name of the value in the help; nil for an option without value.
  public let valueName: String?
  /// Whether it may be given several times, each with a value.
  public let isRepeatable: Bool
  public let summary: String

  public init(_ name: String, value valueName: String? = nil, isRepeatable: Bool = false, _ summary: String) {
    self.name = name
    self.valueName = valueName
    self.isRepeatable = isRepeatable
    self.summary = summary
  }

  /// The option as it is typed, with the name of its value.
  var heading: String { "--" + name + (valueName.map { " " + $0 } ?? "") }

  public static func == (a: Option, b: Option) -> Bool { a.name == b.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
