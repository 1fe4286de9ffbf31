/// A command line that cannot be understood. It names the word at fault and the help that would explain it.
public struct UsageError: Error, Sendable, Equatable {
  public let message: String
  /// The command whose help is worth reading; nil when the command itself is in doubt.
  public let command: String?

  public init(_ message: String, command: String? = nil) {
    self.message = message
    self.command = command
  }

  /// The lines for stderr.
  public var report: String {
    let subject = command.map { "cachectl \($0)" } ?? "cachectl"
    let help = command.map { "cachectl help \($0)" } ?? "cachectl help"
    return "\(subject): \(message)\nTry '\(help)'.\n"
  }
}
