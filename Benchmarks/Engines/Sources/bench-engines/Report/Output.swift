import Glibc

/// The facts of a run that its table names.
struct RunFacts {
  let isQuick: Bool
  let lines: [String]
}

/// The folder of results.
struct Output {
  let folder: String

  /// Makes the folder, and removes the results of an earlier run.
  init(_ folder: String) throws {
    self.folder = folder
    try Folder.makeAll(folder)
    for name in ["table.md", "results.json"] + (try Folder.names(folder).filter { $0.hasSuffix(".svg") }) {
      unlink("\(folder)/\(name)")
    }
  }

  /// Writes the table, `results.json` and the plots.
  func write(_ results: Results, _ workloads: [any Workload], _ facts: RunFacts) throws {
    try write("table.md", ResultTable.text(results, workloads, facts))
    try write("results.json", JSONReport.text(results.rows))
    for workload in workloads {
      let title = "\(workload.name): ratio to raw\(facts.isQuick ? " (QUICK)" : "")"
      guard let plot = RatioPlot(title, results.rows(workload.name)) else { continue }
      try write("\(workload.name).svg", plot.svg)
    }
  }

  private func write(_ name: String, _ text: String) throws {
    let path = folder + "/" + name
    guard let file = fopen(path, "w") else { throw Failure.system("write \(path)", errno) }
    let isWritten = fputs(text, file) >= 0
    guard fclose(file) == 0, isWritten else { throw Failure.system("write \(path)", errno) }
  }
}
