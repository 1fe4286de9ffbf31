import Testing
import Vitrine
import VitrineSimulation

/// The process dies after every operation of the disk, while the system lives: nothing written is lost.
@Suite struct ProcessDeathTests {
  private func explore(_ work: Workload, at location: SourceLocation = #_sourceLocation) {
    var failures: [String] = []
    let disk = work.world.disk
    for moment in (disk.operations.first?.index ?? 0)...disk.operationCount where Thoroughness.takes(moment) {
      let left = disk.crashStates(after: moment).diskAfterProcessDeath()
      let inspection = Inspection(history: work.history, moment: moment, powerLost: false)
      if let wrong = inspection.run(work.world.rebooted(left)) { failures.append("after \(moment): \(wrong)") }
    }
    #expect(failures.isEmpty, "\(failures.prefix(5).joined(separator: "\n"))", sourceLocation: location)
  }

  @Test func everythingAcknowledgedSurvives() throws {
    let work = try Workload()
    for round in 0..<12 { try work.put("k\(round % 5)", Workload.bytes(900 + round * 700, round)) }
    try work.remove("k2")
    try work.batch(puts: [("x", [1]), ("y", [2])], removals: ["k1"])
    work.upkeep()
    try work.put("large", Workload.bytes(90_000, 50))
    try work.removeAll()
    try work.put("k0", Workload.bytes(10, 60))
    explore(work)
  }

  @Test func halfStoredFrameIsNotReplayed() throws {
    let work = try Workload()
    try work.put("a", Workload.bytes(700, 1))
    let before = work.world.disk.operationCount
    try work.put("b", Workload.bytes(700, 2))
    // The last operation is the frame's store into the mapping: cut it at every eighth byte.
    let path = "\(Workload.path)/wal/0.wal"
    let whole = try #require(work.world.disk.contents(path))
    let old = try #require(
      work.world.disk.crashStates(after: before).diskAfterProcessDeath().contents(path))
    let first = try #require((0..<whole.count).first { whole[$0] != old[$0] })
    let last = try #require((0..<whole.count).last { whole[$0] != old[$0] })
    for cut in stride(from: first & ~7, to: last, by: 8) {
      let disk = work.world.disk.crashStates().diskAfterProcessDeath()
      #expect(disk.setContents(path, Array(whole[..<cut] + old[cut...])))
      let inspection = Inspection(history: work.history, moment: before, powerLost: false)
      #expect(inspection.run(work.world.rebooted(disk)) == nil, "cut at \(cut)")
    }
  }
}
