import Foundation
import Testing

@testable import Vitrine
@testable import VitrineSimulation

/// Stores of every released format are opened by this version, and changed, while the power is lost and the disk
/// fails.
@Suite struct GoldenCrashTests {
  @Test(arguments: GoldenStore.all)
  func noCrashOfTheLaterVersionLosesAnything(_ golden: GoldenStore) throws {
    let workload = try self.workload(golden)
    // Damage and a fault are two misfortunes.
    let faults = golden.kind == .rebuilt ? 0 : RandomRuns.share(of: 32)
    let explorer = CrashExplorer(workloads: [workload], seed: 1, states: RandomRuns.share(of: 64), faults: faults)
    let report = explorer.run()
    #expect(report.violations.isEmpty, "\(report.violations.prefix(2))")
    #expect(report.states >= explorer.states && report.faults >= explorer.faults, "\(report.states), \(report.faults)")
  }

  /// An inspection would report entries of the earlier version that are missing here.
  @Test(arguments: GoldenStore.all)
  func historyBeginsWithTheEarlierVersionsEntries(_ golden: GoldenStore) throws {
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
    UpgradeWorkloads.upgrade(from: try golden.files(), traits: golden.kind == .rebuilt ? .mayComplain : [])
  }

  @Test func explorerBeginsWithTheFirstGoldenStore() throws {
    let first = try #require(GoldenStore.all.first { $0.version == 1 && $0.kind == .torn })
    #expect(StoreArchive.firstVersion.files == (try first.files()))
  }

  @Test func invalidArchiveIsRefused() throws {
    let archive = StoreArchive(files: ["a": [1, 2], "b": []])
    #expect(StoreArchive(bytes: archive.bytes)?.files == archive.files)
    #expect(StoreArchive(bytes: []) == nil && StoreArchive(bytes: Array(archive.bytes.dropLast())) == nil)
  }

  /// `scripts/golden` runs it.
  @Test(.enabled(if: ProcessInfo.processInfo.environment["VITRINE_GOLDEN_ARCHIVE"] != nil))
  func firstGoldenStoreIsPackedForTheExplorer() throws {
    let path = try #require(ProcessInfo.processInfo.environment["VITRINE_GOLDEN_ARCHIVE"])
    let first = try #require(GoldenStore.all.first { $0.version == 1 && $0.kind == .torn })
    try Files.write(StoreArchive(files: try first.files()).bytes, to: path)
  }
}
