import Foundation

@testable import VitrineImages

/// The programs that are built next to the tests.
enum Programs {
  static func path(_ name: String) -> String {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent(name).path
  }

  static let decoder = path("vitrine-decoder")

  /// Returns a decoder with one process, which shows the fault.
  static func faulty(_ fault: String, _ change: (inout ProcessDecoder.Options) -> Void = { _ in }) -> ProcessDecoder {
    var options = ProcessDecoder.Options()
    options.processCount = 1
    options.limits.milliseconds = 60_000
    change(&options)
    return ProcessDecoder(executable: path("decoder-faults"), arguments: [fault], options: options)
  }

  /// Whether a process exists, also as a zombie.
  static func isThere(_ id: Int32) -> Bool { kill(id, 0) == 0 }
}
