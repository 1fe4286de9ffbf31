import CacheCtlKit
import Foundation

/// Measures the cost of showing pictures, scene by scene. Exit status: 0 done, 1 a machine-independent promise
/// broken, 2 wrong usage, 3 could not run.
@main
enum BenchImages {
  static let scenes: [any Scene] = [PassesScene(), SectionScene(), ShowScene(), FormsScene(), ListScene()]

  static func main() async {
    // A closed connection is an error of a call, not the end of the process.
    signal(SIGPIPE, SIG_IGN)
    let words = Array(CommandLine.arguments.dropFirst())
    do {
      if let role = words.first.flatMap({ ChildRole(argument: $0) }) {
        return try await role.run(Array(words.dropFirst()))
      }
      let command = try BenchCommand(words)
      if command.wantsHelp { return print(BenchCommand.usage, terminator: "") }
      exit(try await run(command) ? 0 : 1)
    } catch let error as UsageError {
      Progress.complain("\(error.message)\n\(BenchCommand.usage)")
      exit(2)
    } catch {
      Progress.complain("\(error)")
      exit(3)
    }
  }

  /// Returns whether all machine-independent promises held.
  private static func run(_ command: BenchCommand) async throws -> Bool {
    let bench = try Bench(command)
    defer { bench.removeWork() }
    var reports: [SceneReport] = []
    for scene in command.scenes {
      Progress.say("\(scene.name): \(scene.summary)")
      let report = try await scene.run(bench)
      if !command.asJSON { print(report.markdown) }
      for failure in report.failures { Progress.complain("\(scene.name): \(failure)") }
      reports.append(report)
    }
    if command.asJSON { print(try SceneReport.json(reports)) }
    return reports.allSatisfy(\.failures.isEmpty)
  }
}
