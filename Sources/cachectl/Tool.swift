// Every command uses the base, so all files of the tool see it.
@_exported import CacheCtlBase
import CacheCtlKit
import Glibc
import Vitrine

/// Runs a command line and returns its exit status.
package enum Tool {
  static let commands: [any Command.Type] =
    [
      StatCommand.self, VerifyCommand.self, CompactCommand.self, TrimCommand.self, RepairCommand.self, DumpCommand.self,
      ListCommand.self, GetCommand.self, PutCommand.self, PinCommand.self, RemoveCommand.self,
      ImportCommand.self, ExportCommand.self,
    ] + PictureCommands.all + ServerCommands.all
    + [BenchCommand.self, ReplayCommand.self, CrashTestCommand.self, CompletionCommand.self, HelpCommand.self]

  static var specifications: [CommandSpecification] { commands.map { $0.specification } }

  package static func run() -> ExitStatus {
    PictureCommands.decodeIfAsked()
    StandardStreams.prepare()
    let output = Output(descriptor: STDOUT_FILENO)
    var name: String?
    do {
      let status = try run(words(), output, &name)
      try output.flush()
      return status
    } catch let error as UsageError {
      Diagnostics.write(error.report)
      return .usage
    } catch is OutputClosed {
      // The reader has closed the output, like `head`. A command that writes during its work is then incomplete.
      return commands.contains { $0.specification.name == name && $0.isCutShortByClosedOutput }
        ? .couldNotRun : .done
    } catch {
      // Flushed first to keep the output in order with the message; if stdout fails too, one message is enough.
      try? output.flush()
      return report(error, command: name)
    }
  }

  private static func run(_ words: [[UInt8]], _ output: Output, _ name: inout String?) throws -> ExitStatus {
    guard let first = words.first else { throw UsageError("which command?") }
    switch String(decoding: first, as: UTF8.self) {
    case "--help", "-h":
      return try HelpCommand.printOverview(output)
    case "--version":
      if words.count > 1 { throw UsageError("--version stands alone") }
      try output.write(
        "cachectl \(CacheStore.version) (store format \(CacheFormat.name(of: CacheStore.formatVersion)))\n")
      return .done
    case let word:
      guard let command = commands.first(where: { $0.specification.name == word }) else {
        if let absence = PictureCommands.absence(of: word) ?? ServerCommands.absence(of: word) { throw absence }
        throw UsageError(
          first.first == UInt8(ascii: "-")
            ? "unknown option \(printable(first))" : "no command '\(printable(first))'")
      }
      name = word
      let arguments = try Arguments(words.dropFirst(), for: command.specification)
      if arguments.wantsHelp {
        try output.write(HelpText.text(for: command.specification))
        return .done
      }
      // A file truncated by another program under its mapping is then an error of one read or change.
      try CacheStore.installBusErrorGuard()
      return try command.run(arguments, output)
    }
  }

  private static func report(_ error: any Error, command: String?) -> ExitStatus {
    let subject = command.map { "cachectl \($0)" } ?? "cachectl"
    switch error {
    case let failure as Failure:
      Diagnostics.write("\(subject): \(failure.message)\n")
      return failure.status
    case StoreError.invalidArgument(let reason):
      Diagnostics.write(UsageError(reason, command: command).report)
      return .usage
    default:
      let hint = (error as? StoreError).flatMap { ReadMode.hint(for: $0) } ?? ""
      Diagnostics.write("\(subject): \(error)\(hint)\n")
      return .couldNotRun
    }
  }

  /// The words after the program's name, byte for byte.
  private static func words() -> [[UInt8]] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      CommandLine.unsafeArgv[index].map { word in
        Array(UnsafeRawBufferPointer(start: word, count: strlen(word)))
      }
    }
  }
}
