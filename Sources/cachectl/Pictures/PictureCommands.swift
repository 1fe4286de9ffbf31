/// The commands that need the libraries for pictures.
enum PictureCommands {
  #if Images
    static let all: [any Command.Type] = [FetchCommand.self, SheetCommand.self]
  #else
    static let all: [any Command.Type] = []
  #endif
  static let names = ["fetch", "sheet"]

  /// Explains how to get a command that this build does not have; nil if no build has a command of that name.
  static func absence(of name: String) -> Failure? {
    guard names.contains(name) else { return nil }
    return Failure(
      "'\(name)' is not in this build, which was made without the package trait Images; 'make build' makes one that has "
        + "it, as does 'swift build' without --disable-default-traits (with libjpeg, libpng and libwebp: 'make setup')",
      status: .usage)
  }
}
