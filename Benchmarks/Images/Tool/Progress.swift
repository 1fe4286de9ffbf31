#if Images
  import Foundation

  /// Words for whoever waits: on the error output, so that the tables can be taken as they are.
  enum Progress {
    static func say(_ text: String) { write("  \(text)\n") }
    static func complain(_ text: String) { write("bench-images: \(text)\n") }

    private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
  }
#endif
