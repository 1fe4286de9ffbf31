import Foundation
import Testing
import Vitrine

/// `cachectl pin` lets eviction leave entries, and `stat` and `ls` show them.
@Suite struct PinTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let store = try CacheStore.open(at: tool.folder.path + "/s", options: StoreOptions(byteBudget: 8 << 20))
    for index in 0..<20 { try store.put([UInt8](repeating: UInt8(index), count: 1000), for: "u\(index)") }
    try store.close()
  }

  @Test func pinnedEntriesStayAndAreShown() throws {
    #expect(try tool.run("pin", "s", "u3", "u5").text == "pinned 2 entries\n")
    #expect(try tool.run("trim", "s", "--to-entries", "0").status == 0)
    let lines = try tool.run("ls", "s").text.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("1.0 kB*") }, "\(lines)")
    #expect(try tool.run("ls", "s", "--json", "--prefix", "u3").json?["pinned"] as? Bool == true)
    let pins = try tool.run("stat", "s", "--json").json?["pins"] as? [String: Any]
    #expect(pins?["entries"] as? Int == 2 && pins?["bytes"] as? Int == 2256)
    #expect(pins?["most_bytes"] as? Int == 2 << 20 && pins?["most_entries"] is NSNull)
    let text = try tool.run("stat", "s").text
    #expect(text.contains("entries, 2.3 kB of at most 2.1 MB"), "\(text)")
    #expect(try tool.run("pin", "s", "u3", "--off", "--json").json?["unpinned"] as? Int == 1)
    #expect(try tool.run("trim", "s", "--to-entries", "0").status == 0)
    #expect(try tool.run("ls", "s", "--json").json?["url"] as? String == "u5")
  }

  @Test func aMissingKeyIsNamed() throws {
    let outcome = try tool.run("pin", "s", "u1", "none", "--json")
    #expect(outcome.status == 1 && outcome.diagnostics.contains("no such key: none"), "\(outcome.diagnostics)")
    #expect(outcome.json?["pinned"] as? Int == 1 && outcome.json?["missing"] as? [String] == ["none"])
    #expect(try tool.run("pin", "s").status == 2)
    #expect(try tool.run("pin", "missing", "u").status == 3)
  }
}
