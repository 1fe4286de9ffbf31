#if Images
  import CacheCtlPictures
  import VitrineImages
#endif

/// The commands that need the image libraries.
enum PictureCommands {
  #if Images
    static let all: [any Command.Type] = [FetchCommand.self, SheetCommand.self]
  #else
    static let all: [any Command.Type] = []
  #endif
  static let names = ["fetch", "sheet"]

  /// Serves as a process that decodes pictures, and does not return, if it was started as one.
  static func decodeIfAsked() {
    #if Images
      ProcessDecoder.serveIfAsked()
    #endif
  }

  /// Returns an explanation how to get a command that is missing in this build, or nil if no build has a command of
  /// this name.
  static func absence(of name: String) -> Failure? {
    guard names.contains(name) else { return nil }
    return Failure(
      "'\(name)' is not in this build, which was made without the package trait Images; 'make build' makes one that "
        + "has it, as does 'swift build' without --disable-default-traits (with libjpeg, libpng and libwebp: 'make "
        + "setup')",
      status: .usage)
  }
}
