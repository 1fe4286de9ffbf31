/// An invalid command line. The message names the wrong word and the help that explains it.
public struct UsageError: Error, Sendable, Equatable {
  public let message: String
  /// The command to get help for; nil if the command itself is invalid.
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
