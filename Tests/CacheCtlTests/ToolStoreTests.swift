import Foundation
import Testing

/// The tool on real stores.
@Suite struct ToolStoreTests {
  private let tool: Tool
  private let picture = Data((0..<5000).map { _ in UInt8.random(in: 0...255) })

  init() throws { tool = try Tool() }

  @Test(arguments: ["stat", "verify", "compact", "repair", "ls", "get", "rm", "export"])
  func missingStoreIsNotMade(_ command: String) throws {
    let words = ["get": ["u"], "rm": ["u"], "export": ["out"]][command] ?? []
    #expect(try tool.run([command, "s"] + words).status == 3)
    #expect(!FileManager.default.fileExists(atPath: tool.folder.path + "/s"))
  }

  @Test func putValueIsReturnedByGet() throws {
    try tool.write(picture, to: "f")
    #expect(try tool.run("put", "s", "u", "f").status == 0)
    #expect(try tool.run("put", "s", "", input: picture).status == 0)
    #expect(try tool.run("put", "s", "--", "-u", "-", input: picture).status == 0)
    #expect(try tool.run("get", "s", "u").output == picture)
    #expect(try tool.run("get", "s", "").output == picture)
    #expect(try tool.run("get", "s", "--", "-u").output == picture)
    #expect(try tool.run("get", "s", "u", "--output", "o").output.isEmpty)
    #expect(tool.read("o") == picture)
  }

  @Test func aMissingOrExpiredKeyIsStatusOneAndTouchesNoFile() throws {
    try tool.write(picture, to: "keep")
    #expect(try tool.run("put", "s", "old", "--ttl", "0", input: picture).status == 0)
    for (url, reason) in [("none", "no such key: none"), ("old", "no such key: old")] {
      let outcome = try tool.run("get", "s", url, "--output", "keep")
      #expect(outcome.status == 1)
      #expect(outcome.diagnostics == "cachectl get: \(reason) (original)\n")
    }
    #expect(tool.read("keep") == picture)
  }

  @Test func aBitmapKeepsItsLayoutAndAPictureItsType() throws {
    let pixels = Data(count: 60 * 40 * 2)
    #expect(
      try tool.run("put", "s", "u", "--bitmap", "60x40:rgb565", "--style", "t", input: pixels).status == 0)
    #expect(try tool.run("put", "s", "u", "--type", "image/jpeg", input: picture).status == 0)
    let entries = try tool.run("ls", "s", "--json").lines
    #expect(entries.map { $0["style"] as? String } == ["original", "t"])
    #expect(entries.first?["content_type"] as? String == "image/jpeg")
    #expect(entries.last?["encoding"] as? String == "bitmap")
    #expect((entries.last?["bitmap"] as? [String: Any])?["format"] as? String == "RGB565")
  }

  @Test func removeReportsTheNumberOfKeys() throws {
    for (url, style) in [("a/1", "x"), ("a/1", "y"), ("a/2", "x"), ("b", "x")] {
      #expect(try tool.run("put", "s", url, "--style", style, input: picture).status == 0)
    }
    #expect(try tool.run("rm", "s", "a/1").status == 1)
    #expect(try tool.run("rm", "s", "a/1", "--all-styles", "--json").json?["removed"] as? Int == 2)
    #expect(try tool.run("rm", "s", "--prefix", "a/").text == "removed 1 key\n")
    #expect(try tool.run("rm", "s", "--prefix", "a/").status == 0)
    #expect(try tool.run("ls", "s", "--json").lines.map { $0["url"] as? String } == ["b"])
  }

  @Test func importTakesEveryFileAndFollowsNoLink() throws {
    try tool.write(picture, to: "in/a.jpg")
    try tool.write(Data(), to: "in/sub/deep/empty")
    try FileManager.default.createSymbolicLink(
      atPath: tool.folder.path + "/in/link", withDestinationPath: "/etc/passwd")
    try FileManager.default.createSymbolicLink(
      atPath: tool.folder.path + "/in/folder", withDestinationPath: "/etc")
    let outcome = try tool.run("import", "s", "in", "--url-prefix", "p/", "--json")
    #expect(outcome.status == 0)
    #expect(outcome.lines.map { $0["url"] as? String } == ["p/a.jpg", "p/sub/deep/empty"])
    #expect(outcome.lines.map { $0["bytes"] as? Int } == [5000, 0])
    #expect(outcome.diagnostics.contains("skipped link: a symbolic link"))
    #expect(outcome.diagnostics.contains("skipped folder: a symbolic link"))
    #expect(try tool.run("get", "s", "p/a.jpg").output == picture)
  }

  @Test func exportStaysInsideItsFolderAndOverwritesNothing() throws {
    let urls = ["../../x", "/abs", "a", "a/b", "a//b.jpg", "..", ".", String(repeating: "x", count: 1000)]
    for url in urls { #expect(try tool.run("put", "s", url, input: picture).status == 0) }
    let outcome = try tool.run("export", "s", "deep", "--json")
    #expect(outcome.status == 0)
    #expect(Set(outcome.lines.compactMap { $0["url"] as? String }) == Set(urls))
    for file in outcome.lines.compactMap({ $0["file"] as? String }) {
      #expect(tool.read("deep/" + file) == picture)
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tool.folder.path).sorted() == [
        ".stdin", "deep", "s",
      ])

    let again = try tool.run("export", "s", "deep")
    #expect(again.status == 1)
    #expect(again.diagnostics.contains("already there: original/a%f"))
    #expect(try tool.run("export", "s", "s/out").status == 2)
  }

  @Test func importReadsBackTheNamesOfAnExport() throws {
    let urls = [
      "a b", "https://a.org/b.jpg", "../../x", "a//b.jpg", "100%", "a", "a/b", String(repeating: "x/", count: 90),
    ]
    for url in urls { #expect(try tool.run("put", "s", url, input: picture).status == 0) }
    #expect(try tool.run("export", "s", "out").status == 0)
    for options in [[], ["--names", "exported"]] {
      #expect(try tool.run(["import", "t", "out/original"] + options).status == 0)
      #expect(try Set(tool.run("ls", "t", "--json").lines.compactMap { $0["url"] as? String }) == Set(urls))
    }
    #expect(try tool.run("import", "plain", "out/original", "--names", "plain").status == 0)
    #expect(try tool.run("get", "plain", "a b%f").output == picture)
    // With one other file, the folder is not one of export.
    try tool.write(picture, to: "out/original/photo")
    #expect(try tool.run("import", "mixed", "out/original").status == 0)
    #expect(try tool.run("get", "mixed", "a b%f").output == picture)
    let strict = try tool.run("import", "strict", "out/original", "--names", "exported")
    #expect(strict.status == 1 && strict.diagnostics.contains("photo: export does not write such a name"))
    #expect(try tool.run("get", "strict", "a b").output == picture)
    #expect(try tool.run("import", "t", "out", "--names", "some").status == 2)
  }

  @Test func exportFollowsNoLinkInsideItsFolder() throws {
    #expect(try tool.run("put", "s", "a.jpg", input: picture).status == 0)
    try tool.write(Data(), to: "elsewhere/x")
    try tool.write(Data(), to: "out/x")
    try FileManager.default.createSymbolicLink(
      atPath: tool.folder.path + "/out/original", withDestinationPath: tool.folder.path + "/elsewhere")
    #expect(try tool.run("export", "s", "out").status == 3)
    #expect(tool.read("elsewhere/a.jpg") == nil)
  }

  @Test func statAndVerifyHaveTheNamesThatScriptsRelyOn() throws {
    #expect(try tool.run("put", "s", "u", "--budget", "10MB", "--entries", "7", input: picture).status == 0)
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    for name in [
      "format_version", "entries", "blobs", "bytes_on_disk", "bytes_live", "bytes_dead", "bytes_logical",
      "budget_bytes",
      "budget_entries", "hits", "misses", "write_amplification", "segments", "styles", "last_open",
      "bytes_pinned", "policy", "evicted", "compaction", "streams", "recency", "sizes", "last_open_for_writing",
    ] {
      #expect(stat[name] != nil, "\(name)")
    }
    #expect(stat["entries"] as? Int == 1)
    #expect(stat["budget_bytes"] as? Int == 10_000_000)
    #expect(stat["budget_entries"] as? Int == 7)
    #expect(((stat["styles"] as? [String: [String: Int]])?["original"])?["bytes"] == 5000)
    #expect(stat["policy"] as? String == "s3fifo")
    let streams = try #require(stat["streams"] as? [String: [String: Int]])
    #expect(streams["originals"]?["entries"] == 1 && streams["originals"]?["records"] == 1)
    let recency = try #require(stat["recency"] as? [[String: Any]])
    #expect(recency.map { $0["below_seconds"] as? Int } == [60, 600, 3600, 86400, 604_800, 2_592_000, nil, nil])
    #expect(recency.map { $0["entries"] as? Int } == [1, 0, 0, 0, 0, 0, 0, 0])
    #expect(recency.last?["unknown"] as? Bool == true)
    #expect((stat["evicted"] as? [String: Any])?["entries"] as? Int == 0)
    #expect(
      stat["compaction"] as? [String: Int]
        == ["steps": 0, "records_moved": 0, "bytes_moved": 0, "segments_freed": 0])
    #expect((stat["last_open_for_writing"] as? [String: Any])?["kind"] as? String == "created")
    for name in ["file", "stream", "bytes", "live", "records"] {
      #expect((stat["segments"] as? [[String: Any]])?.first?[name] != nil, "\(name)")
    }
    for name in ["kind", "milliseconds", "entries_replayed", "entries_dropped"] {
      #expect((stat["last_open"] as? [String: Any])?[name] != nil, "\(name)")
    }
    let verify = try tool.run("verify", "s", "--json")
    #expect(verify.status == 0)
    #expect(verify.json?["ok"] as? Bool == true)
    #expect(verify.json?["records_checked"] as? Int == 1)
    #expect((verify.json?["damaged"] as? [Any])?.isEmpty == true)
    #expect((verify.json?["lost"] as? [Any])?.isEmpty == true)
    #expect(try tool.run("stat", "s").text.split(separator: "\n").allSatisfy { $0.count <= 80 })
  }

  @Test func budgetsAndPolicyAreKeptUntilTheyAreChanged() throws {
    func expectStat(_ policy: String, entries: Int, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let stat = try #require(try tool.run("stat", "s", "--json").json)
      #expect(stat["policy"] as? String == policy, sourceLocation: sourceLocation)
      #expect(stat["budget_entries"] as? Int == entries, sourceLocation: sourceLocation)
    }
    try tool.write(picture, to: "in/a.jpg")
    #expect(try tool.run("import", "s", "in", "--policy", "fifo", "--entries", "3", "--budget", "10MB").status == 0)
    try expectStat("fifo", entries: 3)
    #expect(try tool.run("put", "s", "u", input: picture).status == 0)
    try expectStat("fifo", entries: 3)
    #expect(try tool.run("put", "s", "u", "--policy", "lru", "--entries=0", input: picture).status == 0)
    try expectStat("lru", entries: 0)
  }

  @Test func statReportsEvictions() throws {
    let options = ["--budget", "2MB", "--policy", "fifo", "--entries", "20"]
    for number in 0..<30 { try tool.write(picture + Data([UInt8(number)]), to: "in/\(number)") }
    let imported = try tool.run(["import", "s", "in"] + options)
    #expect(imported.status == 4 && imported.text.contains("not kept: 10 of them, 50.0 kB, were evicted again"))
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    #expect(stat["entries"] as? Int == 20)
    let evicted = try #require(stat["evicted"] as? [String: Any])
    #expect(evicted["entries"] as? Int == 10 && evicted["bytes"] as? Int ?? 0 > 50_000)
    #expect((evicted["ages"] as? [[String: Any]])?.compactMap { $0["entries"] as? Int }.reduce(0, +) == 10)
    // Under fifo the last use of an entry is unknown.
    #expect((stat["recency"] as? [[String: Any]])?.last?["entries"] as? Int == 20)
    let text = try tool.run("stat", "s").text
    #expect(text.contains("10  entries, ") && text.contains(", by fifo\n") && text.contains("  unknown"))
  }

  @Test func aBudgetThatTheStoreRefusesIsAUsageError() throws {
    #expect(try tool.run("put", "s", "u", "--budget", "100", input: picture).status == 2)
  }
}
