import Foundation
import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Stores of every format that has been are opened by this version, and changed, while the power goes and the disk fails.
@Suite struct GoldenCrashTests {
  @Test(arguments: GoldenStore.all)
  func noCrashOfTheLaterVersionLosesAnything(_ golden: GoldenStore) throws {
    let workload = try self.workload(golden)
    // Damage and a fault are two.
    let faults = golden.kind == .rebuilt ? 0 : RandomRuns.share(of: 32)
    let explorer = CrashExplorer(workloads: [workload], seed: 1, states: RandomRuns.share(of: 64), faults: faults)
    let report = explorer.run()
    #expect(report.violations.isEmpty, "\(report.violations.prefix(2))")
    #expect(report.states >= explorer.states && report.faults >= explorer.faults, "\(report.states), \(report.faults)")
  }

  /// A look would find what the earlier version has left missing.
  @Test(arguments: GoldenStore.all)
  func whatTheEarlierVersionLeftIsInTheHistory(_ golden: GoldenStore) throws {
    let store = try workload(golden).make(seed: 1)
    let there = golden.entries.filter(\.isThere)
    #expect(there.allSatisfy { store.history.hasEverPut($0.key, Inspection.content(store.store, $0.key)) })
    let found = Inspection.contents(store.store, store.history.keys)
    #expect(found.count >= there.count)
    let end = store.world.disk.operationCount
    #expect(store.history.judge(found, crashedAfter: end, powerLost: true) == nil)
    for entry in there {
      var less = found
      less[entry.key] = nil
      #expect(store.history.judge(less, crashedAfter: end, powerLost: true)?.contains("is missing") == true)
    }
  }

  private func workload(_ golden: GoldenStore) throws -> CrashWorkload {
    let folder = try TemporaryFolder()
    try golden.unpack(into: folder.path)
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder.store) {
      let path = "\(folder.store)/\(name)"
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else { continue }
      files["\(RecordedStore.path)/\(name)"] = try Files.read(path)
    }
    var workload = CrashWorkload("golden", options: StoreOptions()) { store, numbers in
      try store.put("new, synced", RecordedStore.bytes(600, 71), synced: true)
      // What was made from the old original goes.
      let photo = CacheKey("photo")
      let changes: [History.Change] = [
        .put(photo, Content(RecordedStore.bytes(410, 73))), .remove(CacheKey("photo", Style("square-60@2x")!)),
      ]
      try store.change(changes, synced: false) { try $0.put(RecordedStore.bytes(410, 73), for: photo) }
      try store.remove("twin", synced: true)
      try store.batch(puts: [("new/1", RecordedStore.bytes(300, 81))], removals: ["batch/1/0"], synced: false)
      store.upkeep()
      try store.compact()
      try store.put("later", RecordedStore.bytes(1000 + numbers.below(4000), 82))
      try store.close()
    }
    workload.files = files
    workload.mayComplain = golden.kind == .rebuilt
    return workload
  }
}
