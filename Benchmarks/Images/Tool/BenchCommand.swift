import CacheCtlKit

/// The parsed command line.
struct BenchCommand {
  static let photos = Option("photos", value: "FOLDER", "JPEG, PNG and WebP files to show instead of drawn ones")
  static let rows = Option("rows", value: "N", "rows of the list; 5000 unless given")
  static let seed = Option("seed", value: "N", "of the drawn pictures and of the scrolling; 1 unless given")
  static let json = Option("json", "one JSON document instead of Markdown")

  static var usage: String {
    let names = BenchImages.scenes.map { "  \($0.name.padded(to: 16))\($0.summary)\n" }.joined()
    let options = [photos, rows, seed, json].map { option in
      "  --\(option.name)\(option.valueName.map { " " + $0 } ?? "")".padded(to: 18) + option.summary + "\n"
    }
    return "usage: bench-images [SCENE] [OPTIONS]   (all scenes unless one is named)\n\n\(names)\n\(options.joined())"
  }

  var scenes = BenchImages.scenes
  var wantsHelp = false
  var asJSON = false
  var photosFolder: String?
  var rowCount = 5000
  var seed: UInt64 = 1

  init(_ words: [String]) throws(UsageError) {
    let arguments = try Arguments(
      words.map { Array($0.utf8) },
      for: CommandSpecification(
        name: "bench-images", summary: "", positionals: [.optional("SCENE")],
        options: [Self.photos, Self.rows, Self.seed, Self.json], examples: []))
    wantsHelp = arguments.wantsHelp
    if wantsHelp { return }
    if let name = arguments.positional(0).map({ String(decoding: $0, as: UTF8.self) }) {
      scenes = scenes.filter { $0.name == name }
      if scenes.isEmpty { throw arguments.fail("there is no scene '\(name)'") }
    }
    asJSON = arguments.has(Self.json)
    photosFolder = arguments.value(Self.photos).map { String(decoding: $0, as: UTF8.self) }
    rowCount = max(20, try arguments.count(Self.rows) ?? rowCount)
    seed = UInt64(try arguments.count(Self.seed) ?? Int(seed))
  }
}
