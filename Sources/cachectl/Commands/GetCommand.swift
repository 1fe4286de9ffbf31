import CacheCtlKit
import Glibc
import Vitrine

enum GetCommand: Command {
  private static let noUse = Option("no-use", "do not count this get as a use, so it does not affect eviction")
  private static let output = Option("output", value: "FILE", "write to FILE instead of stdout")

  static let specification = CommandSpecification(
    name: "get", summary: "write one value to stdout or into a file",
    positionals: [.required("STORE"), .required("URL")], options: [.style, output, noUse, .reads],
    notes: [
      "Writes the bytes as they were put, checked against their digest. If there is no value, the exit "
        + "status is 1, stderr says why (missing, expired, damaged or lost), and FILE is not touched.",
      "The get counts as a use for eviction. A program that has the store open for writing counts it within about a "
        + "second. Otherwise the next opening for writing counts it.",
    ],
    examples: [
      .init("cachectl get photos.cache https://example.org/a.jpg > a.jpg", "read a picture"),
      .init(
        "cachectl get photos.cache a.jpg --style square-60@2x --output pixels",
        "a bitmap's pixels, into a file"),
    ])

  static func run(_ arguments: Arguments, _ standardOutput: Output) throws -> ExitStatus {
    let key = CacheKey(bytes: arguments.positionals[1], try arguments.style(.style) ?? .original)
    let file = arguments.value(output)
    return try Stores.read(arguments, notesUses: !arguments.has(noUse)) { store in
      var reader = Reader(store)
      let reason = try reader.get(key) { bytes in
        if let file, file != Array("-".utf8) {
          let target = try Descriptor.open(file, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
          try Output(descriptor: target.raw, name: printable(file)).write(bytes)
        } else {
          try standardOutput.write(bytes)
        }
      }
      guard let reason else { return .done }
      throw Failure("\(reason.text): \(printable(key.url)) (\(key.style))", status: .problemFound)
    }
  }
}
