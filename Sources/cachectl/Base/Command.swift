import CacheCtlKit
import Vitrine

/// A command of `cachectl`.
package protocol Command: SendableMetatype {
  static var specification: CommandSpecification { get }
  /// Whether the output is written during the work, so that a closed output ends the work half-way.
  static var isCutShortByClosedOutput: Bool { get }
  static func run(_ arguments: Arguments, _ output: Output) throws -> ExitStatus
}

extension Command {
  package static var isCutShortByClosedOutput: Bool { false }
}

extension Option {
  package static let json = Option("json", "report as JSON")
  package static let style = Option("style", value: "S", "the style half of the key ('original')")
  package static let budget = Option(
    "budget", value: "SIZE", "change the store's byte budget: 500MB, 2GiB, plain bytes")
  package static let entries = Option(
    "entries", value: "N", "change the store's entry budget; 0 for no limit")
  package static let keepFree = Option(
    "keep-free", value: "SIZE", "change the free bytes of the disk that the store keeps; 0 for no minimum")
  package static let styleBudget = Option(
    "style-budget", value: "STYLE=LIMIT[,LIMIT]", isRepeatable: true,
    "change the budgets of styles: a number of entries (square-60=250), bytes (original=40MB), or both (a=250,4MB); "
      + "replaces those of all styles, and 'none' removes them")
  package static let policy = Option(
    "policy", value: EvictionPolicy.allCases.map(\.name).joined(separator: "|"),
    "change which entries a full store evicts first: least recently used (lru), oldest put (fifo), "
      + "entries not used again (s3fifo), or entries not used since the last sweep over the store (sieve)")
  package static let wait = Option(
    "wait", value: "SECONDS", "wait at most this long for another writer of the store (5); 0: fail at once")
  package static let sync = Option("sync", "wait until the change survives loss of power")
  package static let reads = Option(
    "reads", value: ReadMode.byName.map(\.name).joined(separator: "|"),
    "read the store's files through shared mappings (mapped, the default) or through calls only (copied)")
  package static let prefix = Option("prefix", value: "P", "only keys whose URL begins with P")
}

extension Arguments {
  /// The longest wait for the store's lock, from `--wait`.
  package func waitMilliseconds() throws -> Int {
    let seconds = try count(.wait) ?? 5
    guard seconds <= 86_400 else { throw fail("--wait must be at most 86400") }
    return seconds * 1000
  }

  /// The store options from `--budget`, `--entries`, `--keep-free`, `--style-budget` and `--policy`.
  package func storeOptions() throws -> StoreOptions {
    StoreOptions(
      byteBudget: try size(.budget), entryBudget: try count(.entries), minimumFreeBytes: try size(.keepFree),
      policy: try policy(.policy), styleBudgets: try styleBudgets(.styleBudget))
  }
}
