import Foundation
import Testing
import Vitrine

@testable import VitrineSimulation

/// Meant for a run under ThreadSanitizer, and true without it.
@Suite struct ThreadTests {
  @Test func severalThreadsMayUseOneDisk() async throws {
    let (disk, directory) = try diskWithFolder()
    let shared = try directory.openFile("shared", .create)
    try shared.allocate(byteCount: 64 * 4096)
    let mapping = try shared.map(byteCount: 64 * 4096, writable: true)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          let file = try directory.openFile("f\(worker)", .create)
          for round in 0..<200 {
            try file.write(filled(UInt8(worker), 100), at: round * 100)
            store(filled(UInt8(worker + 1), 100), at: worker * 65_536 + round * 100, mapping, shared)
            if round % 50 == 0 {
              try file.sync()
              _ = disk.crashStates().disk(.mixture(seed: UInt64(round))).export()
            }
            #expect(try file.read(round * 100..<round * 100 + 1) == [UInt8(worker)])
          }
        }
      }
      try await group.waitForAll()
    }
    for worker in 0..<4 {
      #expect(disk.contents("/d/f\(worker)") == filled(UInt8(worker), 20_000))
      #expect(disk.contents("/d/shared")?[worker * 65_536 + 19_999] == UInt8(worker + 1))
    }
    #expect(disk.crashStates().disk(.everythingKept).export() == disk.export())
  }

  @Test func imagesOfOneRunMayBeUsedSideBySide() async throws {
    let (disk, directory) = try diskWithFolder()
    let file = try durableFile("a", filled(1, 20_000), in: directory)
    for round in 0..<10 { try file.write(filled(UInt8(round), 3000), at: round * 1000) }
    let crashes = disk.crashes(mixtures: 5, seed: 1, maximumAlone: 3)
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var sum = 0
          for crash in crashes {
            let image = crash.disk()
            image.damage("/d/a") { $0.append(77) }
            sum += image.contents("/d/a")?.count ?? 0
          }
          return sum
        }
      }
      var sums: Set<Int> = []
      for await sum in group { sums.insert(sum) }
      #expect(sums.count == 1)
    }
  }

  @Test func stopWaitsForARunningStep() async throws {
    let work = SimulatedBackgroundWork()
    let state = Guarded((hasBegun: false, isToEnd: false, hasEnded: false))
    let task = try work.start {
      state.withLock { $0.hasBegun = true }
      while !state.withLock({ $0.isToEnd }) {}
      let begin = ContinuousClock.now
      while ContinuousClock.now - begin < .milliseconds(50) {}
      state.withLock { $0.hasEnded = true }
    }
    async let running: Void = work.runAll()
    while !state.withLock({ $0.hasBegun }) { await Task.yield() }
    state.withLock { $0.isToEnd = true }
    task.stop()
    #expect(state.withLock { $0.hasEnded })
    await running
  }

  #if os(Linux)
    @Test func aThreadThatWaitsForAnotherIsAsleep() {
      #expect(!ThreadStatus().isAsleep, "the calling thread is awake")
      let status = Guarded<ThreadStatus?>(nil)
      let (end, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        status.withLock { $0 = ThreadStatus() }
        end.wait()
        ended.signal()
      }
      while !(status.withLock { $0 }?.isAsleep ?? false) { usleep(1000) }
      end.signal()
      ended.wait()
    }
  #endif
}
