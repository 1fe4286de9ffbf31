/// The commands that need the server library.
enum ServerCommands {
  #if Server
    static let all: [any Command.Type] = [ServeCommand.self, ReportCommand.self]
  #else
    static let all: [any Command.Type] = []
  #endif
  static let names = ["serve", "report"]

  /// Returns an explanation how to get a command that is missing in this build, or nil if no build has a command of
  /// this name.
  static func absence(of name: String) -> Failure? {
    guard names.contains(name) else { return nil }
    return Failure(
      "'\(name)' is not in this build, which was made without the package trait Server; 'make build' makes one that "
        + "has it, as does 'swift build' without --disable-default-traits (with libevent: 'make setup')",
      status: .usage)
  }
}
