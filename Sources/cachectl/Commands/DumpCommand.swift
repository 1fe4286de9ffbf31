import CacheCtlKit
import Vitrine

enum DumpCommand: Command {
  static let specification = CommandSpecification(
    name: "dump", summary: "print the records or frames of one file of a store",
    positionals: [.required("FILE")],
    options: [.json],
    notes: [
      "FILE is a segment, a WAL file, a checkpoint or STORE. It is only read; the store may be in use. "
        + "With --json, one object a line: line, text."
    ],
    examples: [.init("cachectl dump photos.cache/STORE", "print the identity of a store")])

  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus {
    let path = try arguments.text(arguments.positionals[0], "the path of the file")
    var number = 0
    try CacheStore.dump(file: path) { line in
      number += 1
      let text = arguments.has(.json) ? JSON.object([("line", .int(number)), ("text", .string(line))]).line : line
      try output.write(text + "\n")
    }
    return .done
  }
}
