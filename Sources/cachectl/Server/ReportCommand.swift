#if Server
  import CacheCtlKit
  import Vitrine
  import VitrineServer

  enum ReportCommand: Command {
    private static let output = Option(
      "output", value: "FILE", "the page to write; - for standard output (report.html)")

    static let specification = CommandSpecification(
      name: "report", summary: "write a page about a store for a browser",
      positionals: [.required("STORE")], options: [output, .reads],
      notes: [
        "The page shows the state of a store at one moment, in the form of /status of 'cachectl serve': budget, hit "
          + "ratio, styles, misses by budget, time from last use to eviction, and segments as bars. It is one file "
          + "without scripts. Works while another process writes. FILE is replaced in one step. For programs, "
          + "'cachectl stat --json' has the same numbers."
      ],
      examples: [
        .init("cachectl report photos.cache", "writes report.html"),
        .init(
          "cachectl report photos.cache --output - | gzip > report.html.gz", "to a pipe"),
      ])

    static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
      let file = arguments.value(self.output) ?? Array("report.html".utf8)
      if file.isEmpty { throw arguments.fail("--output: the path is empty") }
      return try Stores.read(arguments) { store in
        var tally = EntryTally()
        store.forEachEntry(prefix: "") { entry in
          tally.add(entry)
          return true
        }
        let statistics = store.statistics()
        let page = StoreReport(
          path: store.path, statistics,
          styles: tally.styles.byByteCount.map {
            StoreReport.StyleSum(name: $0.name, entryCount: $0.sum.entryCount, byteCount: $0.sum.byteCount)
          },
          evictionAges: EvictionAges.classes(statistics)
        ).html
        if file == Array("-".utf8) {
          try output.write(page)
        } else {
          try FileReplacement.write(page, to: file)
          try output.write(
            "\(printable(file)): \(Quantity.count(statistics.entryCount, "entry", "entries")), "
              + "\(Quantity.bytes(statistics.bytesOnDisk)) on disk\n")
        }
        return .done
      }
    }
  }
#endif
