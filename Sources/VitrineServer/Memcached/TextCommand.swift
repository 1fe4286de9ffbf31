/// The commands of the classic text protocol.
enum TextCommand: CaseIterable {
  case get, gets, gat, gats, set, add, replace, append, prepend, cas, delete, incr, decr, touch, flushAll, stats,
    version
  case verbosity, quit

  var name: StaticString {
    switch self {
    case .get: "get"
    case .gets: "gets"
    case .gat: "gat"
    case .gats: "gats"
    case .set: "set"
    case .add: "add"
    case .replace: "replace"
    case .append: "append"
    case .prepend: "prepend"
    case .cas: "cas"
    case .delete: "delete"
    case .incr: "incr"
    case .decr: "decr"
    case .touch: "touch"
    case .flushAll: "flush_all"
    case .stats: "stats"
    case .version: "version"
    case .verbosity: "verbosity"
    case .quit: "quit"
    }
  }

  init?(_ word: UnsafeRawBufferPointer) {
    guard let found = TextCommand.allCases.first(where: { word.isEqual($0.name) }) else { return nil }
    self = found
  }

  static func isOfAnotherProtocol(_ word: UnsafeRawBufferPointer) -> Bool {
    (["GET", "PUT", "POST", "HEAD", "DELETE", "OPTIONS"] as [StaticString]).contains { word.isEqual($0) }
  }
}
