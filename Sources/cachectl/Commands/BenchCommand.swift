import CacheCtlKit
import Vitrine

enum BenchCommand: Command {
  private static let entries = Option(
    "entries", value: "N", "measure memory and opening time of N entries instead")
  static let specification = CommandSpecification(
    name: "bench", summary: "measure a temporary store beside the bare disk",
    positionals: [.optional("STORE")],
    options: [entries, .json],
    notes: [
      "The temporary store is made at STORE, which must not exist, or in TMPDIR or /var/tmp. It takes up to 2 GiB "
        + "there and is removed afterwards, also on ^C. Choose the disk to measure.",
      "Each put is compared with bare appends (pwrite) of the same bytes, for synced puts with fdatasync, by as many "
        + "threads. Rounds of both alternate, and medians are shown. Below 1 x, the store is faster than the bare "
        + "disk. A debug build refuses to measure.",
    ],
    examples: [
      .init("cachectl bench", "how fast is this machine?"),
      .init("cachectl bench --entries 1000000", "does a large index fit?"),
      .init("cachectl bench /mnt/photos/try --json", "how fast is that disk, for a program"),
    ])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    if isDebugBuild() {
      throw Failure(
        "the numbers of a debug build mean nothing; build with 'swift build -c release'",
        status: .usage)
    }
    let word = arguments.positional(0)
    if let word, word.isEmpty { throw arguments.fail("the path of the store is empty") }
    let folder = try TemporaryFolder(at: try word.map { try arguments.text($0, "the path of the store") })
    defer { folder.remove() }
    let progress = Progress("bench")
    if let count = try arguments.count(entries) {
      guard count > 0 else { throw arguments.fail("--entries must be at least 1") }
      let report = try ScaleBenchmark(folder: folder.path, entryCount: count) { progress.show($0) }.run()
      progress.clear()
      try output.write(arguments.has(.json) ? report.json.line : report.text)
      return .done
    }
    let results = try Benchmark(folder: folder.path) { progress.show($0) }.run()
    progress.clear()
    let report = BenchReport(results: results, path: folder.path)
    if arguments.has(.json) { try output.write(report.json) } else { try output.write(report.text) }
    return .done
  }

  /// A function, so that a debug build does not warn about unreachable code.
  @inline(never)
  private static func isDebugBuild() -> Bool { _isDebugAssertConfiguration() }
}
