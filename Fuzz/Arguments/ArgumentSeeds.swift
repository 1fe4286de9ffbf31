import FuzzSupport

@testable import CacheCtlBase
@testable import CacheCtlKit
@testable import CacheCtlTool

/// The examples of every command's help, and each option with values right and wrong.
enum ArgumentSeeds {
  private static let values = [
    "500MB", "1.5GiB", "64KiB", "9223372036854775kB", "8388608TiB", "0.9TB", "99999999999999999999",
    "9223372036854775807", "60x40:BGRA8888", "65536x1:Gray8",
    "image/jpeg", "lru", "fifo", "square-60@2x", "", "-1", "0", "4294967295",
    "puts:3:crash:always:12:lost", "puts:0:crash:first-read:7:death", "puts:0:crash:never:12:torn.3.99:8:mixture.5",
    "compaction:1:fault:sync:3:io", "compaction:1:fault:write:3:torn+event:filled:30",
    "batches:1:fault:damage:7:at-rest",
  ]

  static func all() -> [[UInt8]] {
    var lines: [[String]] = []
    for command in Tool.commands.map({ $0.specification }) {
      for example in command.examples {
        lines.append(example.command.split(separator: " ").map(String.init).filter { $0 != "cachectl" })
      }
      let names = [command.name] + command.positionals.map { "\($0.name.lowercased())/x" }
      lines += [names, names + ["--help"], names + ["--"], names + ["-", "--", "--json", "-x"]]
      for option in command.options {
        guard option.valueName != nil else {
          lines += [names + ["--\(option.name)"], names + ["--\(option.name)=x"]]
          continue
        }
        for value in values { lines.append(names + ["--\(option.name)=\(value)"]) }
        lines += [names + ["--\(option.name)"], names + ["--\(option.name)", "--json"]]
      }
    }
    return lines.map { line in Array(line.map { Array($0.utf8) }.joined(separator: [0])) }
  }
}
