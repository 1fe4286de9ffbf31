import Foundation
import Testing
import Vitrine

/// `cachectl dump` of each file of a store, intact and damaged.
@Suite struct DumpTests {
  private let tool: Tool

  init() throws {
    tool = try Tool()
    let store = try CacheStore.open(at: tool.folder.path + "/s", options: StoreOptions(byteBudget: 8 << 20))
    try store.put(Array("picture".utf8), for: "a.jpg")
    try store.put(Array("picture".utf8), for: "b.jpg", style: Style("square-60")!)
    try store.remove("a.jpg")
    try store.close()
  }

  private func dump(_ file: String) throws -> [String] {
    let outcome = try tool.run("dump", "s/\(file)")
    #expect(outcome.status == 0 && outcome.diagnostics.isEmpty)
    return outcome.text.split(separator: "\n").map(String.init)
  }

  private func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(tool.folder.path)/s/\(folder)").sorted()
  }

  @Test func dumpListsTheRecordsOfASegment() throws {
    let lines = try names("segments").flatMap { try dump("segments/\($0)") }
    #expect(lines.contains { $0.hasPrefix("segment 1 ") })
    let record = try #require(lines.first { $0.contains(" record ") })
    #expect(
      record.hasPrefix("128 record ") && record.contains(" bytes=7 ") && record.hasSuffix("style=original url=a.jpg"))
    #expect(lines.contains { $0.contains(" reference ") && $0.hasSuffix("style=square-60 url=b.jpg") })
  }

  @Test func dumpListsFramesOfALogAndKeysOfACheckpoint() throws {
    let frames = try names("wal").flatMap { try dump("wal/\($0)") }
    #expect(frames.contains { $0.hasPrefix("log use=") } && frames.contains { $0.hasPrefix("512 frame seq=") })
    #expect(frames.contains { $0.hasPrefix("  put(") } && frames.contains { $0.hasPrefix("  remove(") })
    let checkpoints = try (0..<2).map { try dump("checkpoints/\($0).checkpoint") }
    let lines = try #require(checkpoints.first { $0[0].contains(" clean ") && $0[0].contains(" keys=1 ") })
    #expect(lines[0].contains(" blobs=1 "))
    #expect(lines.filter { $0.hasPrefix("key ") }.count == 1 && lines.contains { $0.hasPrefix("segment slot=0 ") })
  }

  @Test func dumpListsThePiecesAndTheUsesOfAnIndex() throws {
    let store = try CacheStore.open(at: tool.folder.path + "/s")
    try store.close()
    let reader = try CacheStore.open(at: tool.folder.path + "/s")
    #expect(reader.get("b.jpg", style: Style("square-60")!) { $0.byteCount } == 7)
    try reader.close()
    let area = try dump("checkpoints/area")
    #expect(area.contains { $0.hasPrefix("area blocks=") } && area.contains { $0.hasPrefix("part number=") })
    try Data(count: 8192).write(to: tool.folder.appendingPathComponent("s/checkpoints/uses"))
    #expect(try dump("checkpoints/uses") == ["uses blocks=2"])
  }

  @Test func dumpPrintsBothIdentitiesAndJSON() throws {
    let lines = try dump("STORE")
    #expect(
      lines.count == 2 && lines[0] == lines[1] && lines[0].contains(" format=2 (draft) ")
        && lines[0].contains(" budget=8388608 "))
    let objects = try tool.run("dump", "s/STORE", "--json").lines
    #expect(objects.map { $0["line"] as? Int } == [1, 2] && objects.map { $0["text"] as? String } == lines)
  }

  @Test(arguments: [
    ("STORE", 8..<64, "the copy at 0 fails its check"), ("wal/0.wal", 8..<64, "log: its head fails its check"),
    ("checkpoints/0.checkpoint", 8..<64, "checkpoint: its head fails its check"),
    ("segments/0000000000000001.segment", 8..<64, "segment: its head fails its check"),
    ("segments/0000000000000001.segment", 0..<64, "segment 1: its header is damaged"),
    ("segments/0000000000000001.segment", 136..<144, "128 damaged: the record's head fails its check"),
  ])
  func dumpReportsDamage(_ file: String, _ range: Range<Int>, _ expected: String) throws {
    let url = tool.folder.appendingPathComponent("s/\(file)")
    var bytes = try Data(contentsOf: url)
    for index in range { bytes[index] ^= 0x55 }
    try bytes.write(to: url)
    let lines = try dump(file)
    #expect(lines.contains { $0.hasPrefix(expected) }, "\(lines)")
  }

  @Test(arguments: ["s/LOCK", "s/none", "none/at/all", "s", ""])
  func fileOutsideAStoreIsAnError(_ path: String) throws {
    let outcome = try tool.run("dump", path)
    #expect(
      [2, 3].contains(outcome.status) && outcome.output.isEmpty && outcome.diagnostics.hasPrefix("cachectl dump: "))
  }
}
