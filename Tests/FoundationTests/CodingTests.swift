import Foundation
import Testing
import Vitrine
import VitrineFoundation

/// Options, statistics and errors in the forms of Foundation.
@Suite struct CodingTests {
  private let folder = Folder()

  private func options(_ json: String) throws -> StoreOptions {
    try JSONDecoder().decode(StoreOptions.self, from: Data(json.utf8))
  }

  private func object(_ value: some Encodable) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: JSONEncoder().encode(value)) as? NSDictionary)
  }

  @Test func everyOptionSurvivesCoding() throws {
    let square = try #require(Style("square-60"))
    let all = StoreOptions(
      byteBudget: 5 << 20, entryBudget: 100, minimumFreeBytes: 7, durability: .synced, segmentByteCount: 128 << 10,
      compressionLevel: 3, maximumAgeMilliseconds: 60_000, maximumIdleMilliseconds: 0, policy: .sieve,
      verification: .always, reads: .copied, isReadOnly: true, notesUses: false, createsIfMissing: false,
      waitForLockMilliseconds: 20, whenLocked: .openReadOnly, whenUnusable: .recreate, maximumStylesPerURL: 4,
      styleBudgets: [square: StyleBudget(count: 9), .original: StyleBudget(byteCount: 10)], recreatesIfRemoved: true)
    let encoded = try object(all)
    #expect(encoded.count == 20)
    let decoded = try JSONDecoder().decode(StoreOptions.self, from: JSONEncoder().encode(all))
    #expect(try object(decoded) == encoded)
    #expect(decoded.styleBudgets == all.styleBudgets && decoded.policy == .sieve && decoded.reads == .copied)
    #expect(decoded.whenLocked == .openReadOnly)
  }

  @Test func keysOfOptionsAreStable() throws {
    let keys = try object(StoreOptions(byteBudget: 1 << 20, durability: .buffered)).allKeys as? [String]
    #expect(
      keys?.sorted() == [
        "byteBudget", "createsIfMissing", "durability", "isReadOnly", "notesUses", "reads", "recreatesIfRemoved",
        "verification", "waitForLockMilliseconds", "whenLocked", "whenUnusable",
      ])
  }

  @Test func missingAndUnknownKeysAreNoError() throws {
    let read = try options(#"{"byteBudget": 2097152, "color": "red", "policy": null}"#)
    #expect(read.byteBudget == 2 << 20 && read.policy == nil && read.createsIfMissing && read.notesUses)
    #expect(try object(options("{}")) == object(StoreOptions()))
  }

  @Test(arguments: [
    #"{"byteBudget": 1000}"#, #"{"byteBudget": -1}"#, #"{"byteBudget": 1e30}"#, #"{"byteBudget": 1048576.5}"#,
    #"{"byteBudget": "big"}"#, #"{"entryBudget": -1}"#, #"{"minimumFreeBytes": -1}"#, #"{"durability": "maybe"}"#,
    #"{"durability": 1}"#, #"{"segmentByteCount": 1}"#, #"{"segmentByteCount": 67108865}"#,
    #"{"compressionLevel": 20}"#, #"{"maximumAgeMilliseconds": -1}"#, #"{"maximumIdleMilliseconds": -1}"#,
    #"{"maximumAgeMilliseconds": 9223372036854775808}"#, #"{"policy": "LRU"}"#, #"{"verification": ""}"#,
    #"{"reads": "slow"}"#, #"{"isReadOnly": 2}"#, #"{"waitForLockMilliseconds": -1}"#, #"{"whenUnusable": "cry"}"#,
    #"{"whenLocked": true}"#,
    #"{"maximumStylesPerURL": 0}"#, #"{"styleBudgets": {"a b": {"count": 1}}}"#, #"{"styleBudgets": {"a": {}}}"#,
    #"{"styleBudgets": {"a": {"count": 0}}}"#, #"{"styleBudgets": {"a": {"byteCount": 0}}}"#,
    #"{"styleBudgets": {"a": {"count": 4294967296}}}"#, #"{"styleBudgets": []}"#, "[]", "7", "",
  ])
  func valueOutOfRangeIsADecodingError(_ json: String) {
    #expect(throws: DecodingError.self) { try options(json) }
  }

  @Test func decodedOptionsOpenAStore() throws {
    let store = try folder.open(
      options(#"{"byteBudget": 2097152, "policy": "lru", "styleBudgets": {"a": {"count": 5}}}"#))
    #expect(store.byteBudget == 2 << 20 && store.styleBudgets.map(\.budget) == [StyleBudget(count: 5)])
  }

  @Test func stylesAndEnumerationsAreCodedAsWords() throws {
    #expect(try JSONEncoder().encode([Style.original]) == Data(#"["original"]"#.utf8))
    #expect(try JSONDecoder().decode([Style].self, from: Data(#"["square-60"]"#.utf8)).map(\.name) == ["square-60"])
    #expect(throws: DecodingError.self) { try JSONDecoder().decode([Style].self, from: Data(#"[""]"#.utf8)) }
    #expect(try JSONEncoder().encode([OpeningKind.clean]) == Data(#"["clean"]"#.utf8))
    #expect(try JSONEncoder().encode(EvictionPolicy.allCases) == Data(#"["lru","fifo","s3fifo","sieve"]"#.utf8))
  }

  @Test func statisticsAreJSON() throws {
    let store = try folder.open()
    try store.setStyleBudget(StyleBudget(count: 5), for: .original)
    try store.put(Data([1, 2, 3]), for: "a")
    _ = store["a"]
    _ = store["none"]
    let statistics = store.statistics()
    let read = try #require(JSONSerialization.jsonObject(with: statistics.json()) as? [String: Any])
    #expect(read["entryCount"] as? Int == 1 && read["byteBudget"] as? Int == 4 << 20)
    #expect(read["policy"] as? String == "s3fifo" && read["hitCount"] as? Int == statistics.hitCount)
    #expect((read["lastOpen"] as? [String: Any])?["kind"] as? String == "created")
    #expect((read["styles"] as? [[String: Any]])?.first?["style"] as? String == "original")
    #expect((read["segments"] as? [Any])?.count == statistics.segments.count)
    #expect(try statistics.json(isPretty: true).count > statistics.json().count)
  }

  @Test func everyErrorHasThreeSentences() {
    let error = SystemError(code: 28, operation: "write", path: "/a")
    let errors: [StoreError] = [
      .noSpace, .tooLarge(byteCount: 10, limit: 5), .invalidArgument("a level is 0 to 19, not 20"),
      .writeFailed(error), .locked(processID: 7), .locked(processID: 0), .notAStore(path: "/a", reason: "it is a file"),
      .unsupportedFormat(found: 9, supported: 2), .noSuchStore(path: "/a"), .closed, .readOnly, .aborted,
      .storeRemoved, .unreadable(path: "/a", reason: "the log is damaged"), .system(error), .invalidArgument(""),
    ]
    for error in errors {
      for text in [error.errorDescription, error.failureReason, error.recoverySuggestion] {
        #expect(text?.isEmpty == (error == .invalidArgument("") && text == ""), "\(error)")
        #expect(text == "" || text?.hasSuffix(".") == true && text?.first?.isLowercase == false, "\(error)")
      }
      #expect((error as any Error).localizedDescription == error.errorDescription)
    }
    #expect(StoreError.invalidArgument("a level is 20").failureReason == "A level is 20.")
    #expect(StoreError.tooLarge(byteCount: 10, limit: 5).failureReason?.contains("10 bytes") == true)
  }
}
