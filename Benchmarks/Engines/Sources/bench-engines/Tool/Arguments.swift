/// The command line.
struct Arguments {
  static let usage = """
    usage: bench-engines --out FOLDER [--data FOLDER] [--quick] [--workloads A,B] [--engines A,B] [--repetitions N]
           bench-engines --check [--data FOLDER] [--engines A,B]
      --out          folder of the table, results.json and the plots
      --data         folder of the stores, on the disk to measure; default: the folder of --out
      --quick        smaller counts and three repetitions
      --workloads    names of workloads; scale means all its sizes
      --engines      names of engines; ratios need raw
      --repetitions  repetitions of everything, at least 1
      --check        only check that every engine returns the right bytes; takes seconds

    """

  var output: String?
  var data: String?
  var isQuick = false
  var isCheck = false
  var workloads: [String] = []
  var engines = EngineKind.allCases
  var repetitions: Int?

  init(_ words: [String]) throws {
    var words = words[...]
    func value(_ option: String) throws -> String {
      guard let word = words.popFirst(), !word.isEmpty else { throw Failure("\(option) needs a value") }
      return word
    }
    while let word = words.popFirst() {
      switch word {
      case "--out": output = try value(word)
      case "--data": data = try value(word)
      case "--quick": isQuick = true
      case "--check": isCheck = true
      case "--workloads": workloads = try value(word).split(separator: ",").map(String.init)
      case "--engines": engines = try Arguments.engines(try value(word))
      case "--repetitions":
        guard let number = Int(try value(word)), number > 0 else { throw Failure("--repetitions needs a number") }
        repetitions = number
      default: throw Failure("unknown option \(word)\n\(Arguments.usage)")
      }
    }
    if output == nil, !isCheck { throw Failure("--out is missing\n\(Arguments.usage)") }
  }

  private static func engines(_ text: String) throws -> [EngineKind] {
    let names = text.split(separator: ",").map(String.init)
    for name in names where EngineKind(rawValue: name) == nil {
      throw Failure("no engine \(name); there are " + EngineKind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return EngineKind.allCases.filter { names.contains($0.rawValue) }
  }
}
