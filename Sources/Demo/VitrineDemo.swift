import Vitrine

#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  @preconcurrency import Glibc
#endif

/// Shows a store at work: puts, reads, kills a writing process, recovers, verifies, loads pictures over HTTP, and
/// reports. Exit status: 0 if all checks pass, 1 if one fails, 2 for wrong arguments.
@main
enum VitrineDemo {
  static let usage = """
    usage: vitrine-demo [--folder FOLDER] [--photos FOLDER]

      --folder FOLDER   where store and pictures go; default: .run
      --photos FOLDER   pictures to import, searched with all folders below; default: some are drawn
    """

  static func main() {
    setvbuf(stdout, nil, _IOLBF, 0)
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      if arguments.first == KilledWriter.mode, arguments.count == 4,
        let first = Int(arguments[2]), let end = Int(arguments[3]), first <= end
      {
        return try KilledWriter.write(to: arguments[1], first..<end)
      }
      if arguments.first == PicturePass.mode { return try PicturePass.main(Array(arguments.dropFirst())) }
      try demonstrate(arguments)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  private static func demonstrate(_ arguments: [String]) throws {
    var folder = ".run"
    var photos: String?
    var rest = arguments[...]
    while let option = rest.popFirst() {
      if option == "--help" || option == "-h" {
        print(usage)
        return
      }
      guard let value = rest.popFirst(), option == "--folder" || option == "--photos", !value.isEmpty else {
        complain("cannot understand '\(option)'\n\(usage)")
        exit(2)
      }
      if option == "--folder" { folder = value } else { photos = value }
    }

    print("\n  Vitrine \(CacheStore.version)\n")
    var demonstration = Demonstration(folder: folder, photos: photos)
    try demonstration.run()
    Report(outcome: demonstration.outcome, storePath: folder + "/store").show()
    if demonstration.outcome.failureCount > 0 { exit(1) }
  }

  private static func complain(_ text: String) {
    _ = Files.writeAll(Array("vitrine-demo: \(text)\n".utf8), to: 2)
  }
}
