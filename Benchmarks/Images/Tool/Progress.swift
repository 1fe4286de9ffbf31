import Foundation

/// Progress messages on stderr, so that the tables on stdout can be used directly.
enum Progress {
  static func say(_ text: String) { write("  \(text)\n") }
  static func complain(_ text: String) { write("bench-images: \(text)\n") }

  private static func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
