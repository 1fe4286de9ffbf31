import Testing
import Vitrine

@testable import VitrineSimulation

/// The explorer of the tool: it finds nothing in the present store, and finds the planted errors of a broken one.
@Suite struct ExplorerTests {
  @Test func workloadsBreakNoPromise() {
    let count = CrashWorkload.all.count
    let (states, faults) = Thoroughness.isSanitized ? (1, 1) : Thoroughness.stride == 1 ? (24, 16) : (4, 3)
    let explorer = CrashExplorer(seed: 1, states: states * count, faults: faults * count)
    let report = explorer.run()
    #expect(report.violations.isEmpty, "\(report.violations.prefix(3))")
    #expect(report.states >= explorer.states / 2 && report.faults >= explorer.faults / 2)
    let hasSync = report.callSites.contains { $0.file == "wal/*" && $0.operation == "sync" && $0.cutAfter > 0 }
    #expect(hasSync || Thoroughness.isSanitized)
  }

  private static func workload(_ name: String, breaking fault: Fault) -> CrashWorkload {
    CrashWorkload(name) { store, numbers in
      store.world.disk.plan(fault)
      for number in 0..<6 {
        try store.put("k\(number % 3)", RecordedStore.bytes(300 + numbers.below(3000), number), synced: true)
      }
      try store.checkpoint()
      try store.put("last", RecordedStore.bytes(90, 9), synced: true)
    }
  }

  /// Each omits a sync, as a mistake in the engine would.
  @Test(arguments: ["wal", "segments"]) func aSyncLeftOutIsFoundAndFoundAgain(_ folder: String) throws {
    let broken = Self.workload(
      "broken", breaking: Fault(.syncFile, on: .containing("/\(folder)/"), isLasting: true, .pretend))
    let explorer = CrashExplorer(workloads: [broken], seed: 3, states: 500, faults: 0)
    let report = explorer.run()
    let violation = try #require(report.violations.first)
    #expect(!violation.text.isEmpty && violation.story.contains { $0.contains("put") })
    let again = try #require(try explorer.repeat(violation.place))
    #expect(again.place == violation.place)
    // If no sync is omitted, nothing is wrong at that place, nor anywhere else.
    let whole = Self.workload("broken", breaking: Fault(.syncFile, on: .containing("/nowhere/"), .pretend))
    let states = Thoroughness.isSanitized ? 20 : Thoroughness.stride == 1 ? 200 : 80
    let sound = CrashExplorer(workloads: [whole], seed: 3, states: states, faults: 0)
    #expect(sound.run().violations.isEmpty)
    #expect(try sound.repeat(violation.place) == nil)
  }

  @Test func unknownPlaceIsRefused() {
    let explorer = CrashExplorer(seed: 1)
    for place in [
      "", "puts", "puts:0", "nothing:0:crash:always:3:lost", "puts:x:crash:always:3:lost", "puts:0:crash:always:3:what",
      "puts:0:crash:always:3:lost:4", "puts:-1:crash:always:3:lost", "puts:0:crash:always:-9223372036854775808:lost",
      "puts:0:fault:write:9223372036854775807:torn", "puts:0:fault:write:0:io", "puts:0:fault:write:1:what",
      "puts:0:fault:run:1:io", "puts:0:fault:event:filled:0", "puts:0:fault:event:what:3",
      "puts:0:fault:damage:x:at-rest",
      "puts:0:fault:write:1:io+", "puts:0:fault:write:1:io+write:2:io+write:3:io",
    ] {
      #expect(throws: StoreError.self, "\(place)") { try explorer.repeat(place) }
    }
  }

  @Test func everyPlaceAndPolicyReadsAsItIsWritten() throws {
    let policies: [CrashPolicy] = [
      .everythingKept, .everythingLost, .onlyLost(7), .onlyKept(0), .onlyTorn(12, seed: .max), .inodeLost(3),
      .inodeKept(4), .onlyNamesKept, .onlyContentKept, .onlyLengthsKept, .onlyLengthsLost, .onlyBlocksLost,
      .mixture(seed: 99),
      .moments(seed: 0),
    ]
    for word in ["puts:3:crash:never:41:death", "puts:3:crash:never:41:death:60:lost"] {
      #expect(CrashPlace(word).map { "\($0)" } == word)
    }
    for policy in policies {
      #expect(CrashPolicy(word: policy.word) == policy)
      let first = CrashPlace.Moment(operationCount: 41, policy: policy)
      for second in [nil, first] {
        let place = CrashPlace(workload: "puts", round: 3, event: .crash(first, second: second, .never))
        #expect(CrashPlace("\(place)").map { "\($0)" } == "\(place)")
      }
    }
    for stop in FaultTour([try Workload().world.disk], seed: 3).stops.shuffled().prefix(200) {
      for promises in [true, false] {
        let pair = CrashPlace(
          workload: "puts", round: 0,
          event: .fault([stop.misfortune, stop.misfortune], promisesAllocation: promises))
        #expect(CrashPlace("\(pair)").map { "\($0)" } == "\(pair)")
      }
    }
    for call in DiskCall.allCases {
      for effect in FaultInjection.effects(of: call) {
        let place = CrashPlace(
          workload: "puts", round: 0,
          event: .fault([.call(.init(call: call, occurrence: 5, effect: effect))], promisesAllocation: true))
        #expect(CrashPlace("\(place)").map { "\($0)" } == "\(place)")
      }
    }
    #expect(CrashPolicy(word: "torn.1") == nil && CrashPolicy(word: "lost.1") == nil && CrashPolicy(word: "") == nil)
  }

  /// Every call of a workload fails in some way before one fails in another.
  @Test func everyCallIsStruck() throws {
    let works = try [true, false].map { promises in
      let work = try Workload(promisesAllocation: promises)
      try work.put("k", Workload.bytes(700, 1), synced: true)
      // A burst of buffered frames, which use a mapping if blocks are promised.
      for number in 0..<20 { try work.put("burst", Workload.bytes(20, number)) }
      return work
    }
    let disks = works.map(\.world.disk)
    let tour = FaultTour(disks, seed: 5)
    let first = tour.stops.filter(\.isFirstOfCall).map {
      "\($0.promisesAllocation) " + "\($0.misfortune)".split(separator: ":").prefix(2).joined(separator: ":")
    }
    let calls = disks.flatMap { disk in
      DiskCall.allCases.flatMap { call in
        (0..<disk.callCount(call)).map { "\(disk.promisesAllocation) \(call):\($0 + 1)" }
      }
    }
    #expect(first.count == tour.callCount && first.sorted() == calls.sorted())
    #expect(Set(tour.stops.map { "\($0.promisesAllocation) \($0.misfortune)" }).count == tour.stops.count)
    // On one of the two only, frames of the burst are positioned writes.
    #expect(disks[0].callCount(.write) < disks[1].callCount(.write))
    let last = tour.stops.lastIndex { $0.isFirstOfCall } ?? 0
    let others = tour.stops.count { if case .call = $0.misfortune { false } else { true } }
    #expect(last < tour.callCount + others)
  }

  /// Makes hundreds of runs. Under a sanitizer, other tests run the same code.
  @Test(.enabled(if: !Thoroughness.isSanitized)) func everyCallIsStruckInARun() {
    let small = CrashWorkload("small") { store, _ in try store.put("k", RecordedStore.bytes(700, 1), synced: true) }
    let report = CrashExplorer(workloads: [small], seed: 1, states: 0, faults: 700).run()
    #expect(report.violations.isEmpty && report.calls > 20)
    #expect(report.callsStruck == report.calls)
  }

  @Test func timeLimitAndProgressEndAnExploration() {
    let quick = CrashExplorer(seed: 1, states: .max, faults: .max, seconds: 0.5)
    // Without the limit it would not end.
    #expect(quick.run().states < .max)
    let stopped = CrashExplorer(seed: 1, states: 100_000).run { _ in false }
    #expect(stopped.states < 100_000)
  }
}
