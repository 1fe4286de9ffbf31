import Glibc

/// Runs all engines in turn. Every repetition takes each engine once, and begins with another one.
struct Runner {
  static let repetitions = (full: 5, quick: 3)
  private static let seconds = (full: 0.5, quick: 0.02)
  /// The name of the folder of stores. A folder with this name is removed before and after a run.
  private static let dataName = "bench-engines-data"

  let arguments: Arguments

  private var repetitions: Int {
    arguments.repetitions ?? (arguments.isQuick ? Runner.repetitions.quick : Runner.repetitions.full)
  }

  func run(into path: String) throws {
    let output = try Output(path)
    let workloads = try Catalog.workloads(isQuick: arguments.isQuick, named: arguments.workloads)
    let data = (arguments.data ?? path) + "/" + Runner.dataName
    try Folder.remove(data)
    try Folder.makeAll(data)
    defer { try? Folder.remove(data) }
    Interruption.prepare()
    try EngineCheck(engines: arguments.engines, folder: data).run()
    let counter = WriteCounter(data)
    let facts = facts(counter)
    var results = Results()
    for workload in workloads {
      let engines = arguments.engines.filter(workload.takes)
      let start = Clock.now()
      for repetition in 0..<repetitions {
        for place in engines.indices {
          if Interruption.happened { throw Failure("interrupted; results of complete workloads are in \(path)") }
          let kind = engines[(place + repetition) % engines.count]
          Progress.show("\(workload.name), repetition \(repetition + 1) of \(repetitions): \(kind.rawValue)")
          let folder = "\(data)/\(workload.name)-\(repetition)-\(kind.rawValue)"
          try Folder.make(folder)
          let trial = Trial(
            kind: kind, folder: folder, counter: counter,
            seconds: arguments.isQuick ? Runner.seconds.quick : Runner.seconds.full, repetition: repetition)
          results.add(try workload.run(trial), workload: workload.name, engine: kind)
          try trial.remove(folder)
        }
        // Small stores wait for the end of the run.
        if !arguments.isQuick { try removeAll(workload, repetition, engines, data) }
      }
      try output.write(results, workloads, facts)
      Progress.clear()
      Progress.write("\(workload.name): \((Clock.now() - start) / 1_000_000_000) s\n")
    }
    print(ResultTable.overview(results, workloads, facts))
    print("The whole table, results.json and the plots are in \(path)")
  }

  /// Removes the stores of one repetition that are still there.
  private func removeAll(_ workload: any Workload, _ repetition: Int, _ engines: [EngineKind], _ data: String) throws {
    for kind in engines { try Folder.remove("\(data)/\(workload.name)-\(repetition)-\(kind.rawValue)") }
  }

  func check() throws {
    let data = (arguments.data ?? ".") + "/" + Runner.dataName
    try Folder.remove(data)
    try Folder.makeAll(data)
    defer { try? Folder.remove(data) }
    try EngineCheck(engines: arguments.engines, folder: data).run()
    print("Every engine returned the right bytes: " + arguments.engines.map(\.rawValue).joined(separator: ", "))
  }

  private func facts(_ counter: WriteCounter) -> RunFacts {
    var lines = [
      "Medians of \(repetitions) repetitions with their lowest and highest value. All engines take turns.",
      "`x raw` is the median over that of `raw`: above 1 is better for rates, below 1 for times and sizes.",
      "Bytes written: \(counter.name).",
      "\(sysconf(CInt(_SC_NPROCESSORS_ONLN))) processors.",
    ]
    if arguments.isQuick {
      lines.insert("QUICK: smaller counts and short measurements. These figures show that everything works.", at: 0)
    }
    return RunFacts(isQuick: arguments.isQuick, lines: lines)
  }
}

/// A line that shows progress on a terminal.
enum Progress {
  private static let isTerminal = isatty(STDERR_FILENO) == 1

  static func show(_ text: String) {
    if isTerminal { write("\r\u{1B}[K\(text)") }
  }

  static func clear() {
    if isTerminal { write("\r\u{1B}[K") }
  }

  /// Writes to standard error.
  static func write(_ text: String) {
    var text = text
    text.withUTF8 { _ = Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
