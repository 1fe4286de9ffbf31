/// The commands that need the libraries for pictures.
enum PictureCommands {
  #if Images
    static let all: [any Command.Type] = [FetchCommand.self, SheetCommand.self]
    static let missing: [String] = []
  #else
    static let all: [any Command.Type] = []
    static let missing = ["fetch", "sheet"]
  #endif

  /// What to do about a command that this build goes without; nil for any other name.
  static func absence(of name: String) -> Failure? {
    guard missing.contains(name) else { return nil }
    return Failure(
      "'\(name)' is not in this build, which was made without the package trait Images; 'make build' makes one that has "
        + "it, as does 'swift build' without --disable-default-traits (with libjpeg, libpng and libwebp: 'make setup')",
      status: .usage)
  }
}
