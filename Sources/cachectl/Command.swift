import CacheCtlKit
import Vitrine

/// One word that `cachectl` understands.
protocol Command: SendableMetatype {
  static var specification: CommandSpecification { get }
  /// True when the output is written while the work is being done, so that a closed output ends the work half-way.
  static var isCutShortByClosedOutput: Bool { get }
  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus
}

extension Command {
  static var isCutShortByClosedOutput: Bool { false }
}

extension Option {
  static let json = Option("json", "report as JSON")
  static let style = Option("style", value: "S", "the style half of the key; 'original' when left out")
  static let budget = Option(
    "budget", value: "SIZE", "change the store's byte budget: 500MB, 2GiB, plain bytes")
  static let entries = Option(
    "entries", value: "N", "change the store's entry budget; 0 for no limit")
  static let policy = Option(
    "policy", value: EvictionPolicy.allCases.map(\.name).joined(separator: "|"),
    "change who goes first when the store is full: used (lru) or put (fifo) longest ago")
  static let sync = Option("sync", "survive loss of power before going on")
  static let reads = Option(
    "reads", value: ReadMode.byName.map(\.name).joined(separator: "|"),
    "read the store's files through shared mappings (mapped, the default) or through calls only (copied)")
  static let prefix = Option("prefix", value: "P", "only keys whose URL begins with P")
}

extension Arguments {
  /// What `--budget`, `--entries` and `--policy` say of the store.
  func storeOptions() throws -> StoreOptions {
    StoreOptions(
      byteBudget: try size(.budget), entryBudget: try count(.entries), policy: try policy(.policy))
  }
}
