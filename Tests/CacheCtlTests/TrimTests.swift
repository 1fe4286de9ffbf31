import Foundation
import Testing
import Vitrine

/// `cachectl trim` evicts down to a size or a number of entries, and evicts entries that were not used for some time.
@Suite struct TrimTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let store = try CacheStore.open(at: tool.folder.path + "/s", options: StoreOptions(byteBudget: 64 << 20))
    for index in 0..<200 {
      let bytes = (0..<2500).flatMap { part in
        withUnsafeBytes(of: UInt64(index << 20 | part) &* 0x9E37_79B9_7F4A_7C15) { Array($0) }
      }
      try store.put(bytes, for: "u\(index)")
    }
    try store.close()
  }

  @Test func trimToBytesShrinksTheFolderAndKeepsTheBudget() throws {
    let outcome = try tool.run("trim", "s", "--to", "2MB", "--json")
    #expect(outcome.status == 0, "\(outcome.text)")
    let json = try #require(outcome.json)
    let left = try #require(json["entries"] as? Int)
    #expect(try #require(json["bytes_before"] as? Int) > 4_000_000)
    #expect(try #require(json["bytes_after"] as? Int) <= 2_000_000)
    #expect(left > 50 && json["removed"] as? Int == 200 - left)
    #expect(try tool.run("verify", "s").status == 0)
    #expect(try tool.run("stat", "s", "--json").json?["budget_bytes"] as? Int == 64 << 20)
  }

  @Test func entryLimitAndAgeAreAppliedTogether() throws {
    let outcome = try tool.run("trim", "s", "--to-entries", "30", "--unused", "3600")
    #expect(outcome.status == 0 && outcome.text.contains("removed 170 entries, left 30"), "\(outcome.text)")
    let all = try tool.run("trim", "s", "--unused", "0", "--json")
    #expect(all.status == 0 && all.json?["removed"] as? Int == 30)
    #expect(try tool.run("trim", "s", "--unused", "9223372036854775807").status == 0)
  }

  @Test func aSizeBelowAnEmptyStoreIsReported() throws {
    let outcome = try tool.run("trim", "s", "--to", "1KB")
    #expect(outcome.status == 1 && outcome.diagnostics.contains("too little for this store"), "\(outcome.diagnostics)")
    #expect(try tool.run("stat", "s", "--json").json?["entries"] as? Int == 0)
  }

  @Test func aLimitIsNeededAndAMissingStoreIsNotMade() throws {
    #expect(try tool.run("trim", "s").status == 2)
    #expect(try tool.run("trim", "s", "--to", "much").status == 2)
    #expect(try tool.run("trim", "missing", "--to", "1MB").status == 3)
    #expect(!FileManager.default.fileExists(atPath: tool.folder.path + "/missing"))
  }

  @Test func budgetsOfStylesAreSavedInTheStore() throws {
    let limits = ["--style-budget", "original=150", "--style-budget=a=b=10,1MB"]
    #expect(try tool.run(["put", "s", "u"] + limits, input: Data("x".utf8)).status == 0)
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    let budgets = try #require(stat["style_budgets"] as? [String: [String: Any]])
    #expect(stat["entries"] as? Int == 150 && budgets["original"]?["entries"] as? Int == 150)
    #expect(budgets["original"]?["budget_entries"] as? Int == 150 && budgets["original"]?["budget_bytes"] is NSNull)
    #expect(budgets["a=b"]?["budget_bytes"] as? Int == 1_000_000 && budgets["a=b"]?["entries"] as? Int == 0)
    let text = try tool.run("stat", "s").text
    #expect(text.contains("style budget") && text.contains("of 150") && text.contains("of 1.0 MB"), "\(text)")
    #expect(try tool.run(["put", "s", "u", "--style-budget", "none"], input: Data("x".utf8)).status == 0)
    #expect(try (tool.run("stat", "s", "--json").json?["style_budgets"] as? [String: Any])?.isEmpty == true)
  }

  @Test(arguments: ["a", "a=", "=5", "a=5,6", "a=1MB,2MB", "a=5,", "a=-1", "a=0", "a b=5"])
  func anInvalidBudgetOfAStyleIsRefused(_ text: String) throws {
    let outcome = try tool.run(["put", "s", "u", "--style-budget", text], input: Data("x".utf8))
    #expect(outcome.status == 2 && outcome.diagnostics.contains("budget"), "\(outcome.status) \(outcome.diagnostics)")
  }

  @Test func keepFreeIsSavedInTheStore() throws {
    #expect(try tool.run("put", "s", "u", "--keep-free", "1MB", input: Data("x".utf8)).status == 0)
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    #expect(stat["minimum_free_bytes"] as? Int == 1_000_000 && stat["disk_free_bytes"] as? Int ?? 0 > 0)
    #expect(try tool.run("stat", "s").text.contains("free; the store leaves 1.0 MB"))
  }
}
