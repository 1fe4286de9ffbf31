import Glibc

/// The program of `make bench`.
@main
struct BenchEngines {
  static func main() {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      let runner = Runner(arguments: arguments)
      if arguments.isCheck {
        try runner.check()
      } else if let output = arguments.output {
        if isDebugBuild() { throw Failure("the numbers of a debug build mean nothing; build with -c release") }
        try runner.run(into: output)
      }
    } catch {
      Progress.clear()
      Progress.write("bench-engines: \(error)\n")
      exit(1)
    }
  }

  /// A function, so that a debug build does not warn about unreachable code.
  @inline(never)
  private static func isDebugBuild() -> Bool { _isDebugAssertConfiguration() }
}
