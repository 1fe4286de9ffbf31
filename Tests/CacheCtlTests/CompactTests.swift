import Foundation
import Testing
import Vitrine
import VitrineSimulation

/// `cachectl compact` on stores with many dead records.
@Suite struct CompactTests {
  private let tool: Tool

  init() throws { tool = try Tool() }

  /// Incompressible bytes, all different.
  private func value(_ index: Int) -> [UInt8] {
    withUnsafeBytes(of: index) { Array($0) } + Self.noise.prefix(800 + index * 7919 % 2500 * 8)
  }

  private static let noise: [UInt8] = {
    var generator = SplitMix64(seed: 1)
    return (0..<2600).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
  }()

  /// Puts values and removes two thirds of them; returns the rest.
  private func makeStore(_ count: Int = 1500) throws -> [String: [UInt8]] {
    let options = StoreOptions(byteBudget: 256 << 20, segmentByteCount: 256 << 10)
    let store = try CacheStore.open(at: tool.folder.path + "/s", options: options)
    var left: [String: [UInt8]] = [:]
    for index in 0..<count {
      let bytes = value(index)
      try store.put(bytes, for: "u\(index)")
      if index % 3 == 0 { left["u\(index)"] = bytes }
    }
    try store.removeMany((0..<count).filter { $0 % 3 != 0 }.map { CacheKey("u\($0)") })
    try store.close()
    return left
  }

  private func expectWhole(_ left: [String: [UInt8]]) throws {
    let verify = try tool.run("verify", "s", "--json")
    #expect(verify.status == 0 && verify.json?["records_checked"] as? Int == left.count, "\(verify.text)")
    let store = try CacheStore.open(at: tool.folder.path + "/s", options: StoreOptions(isReadOnly: true))
    #expect(store.count == left.count)
    #expect(left.allSatisfy { store.bytes($0.key) == $0.value })
    try store.close()
  }

  /// Expects at most 2 % dead bytes in sealed segments.
  private func expectDense() throws {
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    let segments = try #require(stat["segments"] as? [[String: Any]])
    let dead = segments.filter { $0["open"] as? Bool == false }.compactMap { $0["dead"] as? Int }.reduce(0, +)
    #expect(dead * 50 <= stat["bytes_live"] as? Int ?? 0)
    #expect(segments.filter { $0["open"] as? Bool == true }.count <= 4)
  }

  @Test func compactFreesDeadSpaceAndKeepsEveryEntry() throws {
    let left = try makeStore()
    let before = try #require(try tool.run("stat", "s", "--json").json)
    let outcome = try tool.run("compact", "s", "--json")
    #expect(outcome.status == 0 && outcome.diagnostics.isEmpty)
    let report = try #require(outcome.json)
    let bytesAfter = try #require(report["bytes_after"] as? Int)
    #expect(report["bytes_before"] as? Int ?? 0 > 2 * bytesAfter)
    #expect(report["records_moved"] as? Int ?? 0 > left.count / 4 && report["records_moved"] as? Int ?? 0 <= left.count)
    #expect(report["records_dropped"] as? Int == 0 && report["interrupted"] as? Bool == false)
    #expect(report["seconds"] as? Double ?? 0 > 0)
    try expectWhole(left)
    try expectDense()
    let stat = try #require(try tool.run("stat", "s", "--json").json)
    #expect(stat["bytes_on_disk"] as? Int ?? .max < (before["bytes_on_disk"] as? Int ?? 0) / 2)
    let compaction = try #require(stat["compaction"] as? [String: Int])
    // The process that made the store may have begun.
    let earlier = try #require(before["compaction"] as? [String: Int])
    let moved = (compaction["records_moved"] ?? 0) - (earlier["records_moved"] ?? 0)
    #expect(moved == report["records_moved"] as? Int)
    #expect(compaction["steps"] ?? 0 > 0 && compaction["segments_freed"] ?? 0 > 10)
    // Nothing is left to do, unless upkeep has filled another segment before.
    let again = try tool.run("compact", "s")
    #expect(again.status == 0 && again.text.contains("100 % of that"), "\(again.text)")
    let movedAgain = again.text.split(separator: "\n").first { $0.hasPrefix("moved") }?.split(separator: " ")
    #expect(movedAgain?.dropFirst().first.flatMap { Int($0) } ?? .max <= left.count / 20, "\(again.text)")
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func signalEndsCompactEarlyAndKeepsCompletedSteps(_ signal: Int32) throws {
    let left = try makeStore(3000)
    let (store, original) = (tool.folder.appendingPathComponent("s"), tool.folder.appendingPathComponent("original"))
    try FileManager.default.copyItem(at: store, to: original)
    // The signal may come when all is done: then repeat.
    for attempt in 0..<20 {
      let outcome = try tool.runSignalled(["compact", "s", "--json"], signal, store: "s")
      if outcome.status == 3 {
        #expect(outcome.json?["interrupted"] as? Bool == true)
        break
      }
      #expect(outcome.status == 0 && outcome.json?["interrupted"] as? Bool == false)
      #expect(attempt < 19, "no signal came in time")
      try FileManager.default.removeItem(at: store)
      try FileManager.default.copyItem(at: original, to: store)
    }
    try expectWhole(left)
    #expect(try tool.run("compact", "s").status == 0)
    try expectWhole(left)
    try expectDense()
  }

  @Test func killAtAnyMomentLosesNoEntry() throws {
    let left = try makeStore()
    for _ in 0..<8 {
      _ = try tool.runKilled(["compact", "s"], afterMicroseconds: UInt32.random(in: 1000...60_000))
      try expectWhole(left)
    }
    #expect(try tool.run("compact", "s").status == 0)
    try expectWhole(left)
    try expectDense()
  }

  @Test func compactRefusesAStoreInUseAndNamesItsWriter() throws {
    let store = try CacheStore.open(at: tool.folder.path + "/s", options: StoreOptions(byteBudget: 4 << 20))
    try store.put([1], for: "a")
    let outcome = try tool.run("compact", "s", "--json")
    #expect(outcome.status == 3 && outcome.output.isEmpty)
    #expect(outcome.diagnostics.contains("\(ProcessInfo.processInfo.processIdentifier)"), "\(outcome.diagnostics)")
    try store.close()
    #expect(try tool.run("compact", "s").status == 0)
  }

  @Test func aDamagedRecordIsDroppedAndIsAProblem() throws {
    var left = try makeStore(300)
    let victim = try #require(left.keys.min())
    let segments = tool.folder.path + "/s/segments"
    var count = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: segments) {
      var bytes = try #require(tool.read("s/segments/\(name)"))
      guard let place = bytes.range(of: Data(left[victim]!.prefix(64))) else { continue }
      bytes[place.lowerBound + 500] ^= 1
      try tool.write(bytes, to: "s/segments/\(name)")
      count += 1
    }
    #expect(count == 1)
    let outcome = try tool.run("compact", "s", "--json")
    #expect(outcome.status == 1)
    #expect(outcome.json?["records_dropped"] as? Int == 1)
    left[victim] = nil
    try expectWhole(left)
  }
}
