/// The commands that need libevent.
enum ServerCommands {
  #if Server
    static let all: [any Command.Type] = [ServeCommand.self]
  #else
    static let all: [any Command.Type] = []
  #endif

  /// Returns an explanation how to get a command that is missing in this build, or nil if no build has a command of
  /// this name.
  static func absence(of name: String) -> Failure? {
    guard name == "serve" else { return nil }
    return Failure(
      "'serve' is not in this build, which was made without the package trait Server; 'make build' makes one that has "
        + "it, as does 'swift build' without --disable-default-traits (with libevent: 'make setup')",
      status: .usage)
  }
}
