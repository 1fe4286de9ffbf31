import Testing
import Vitrine
import VitrineSimulation

@Suite struct WorldTests {
  @Test func timePassesOnlyOnRequest() {
    let clock = SimulatedClock(wallMilliseconds: 1000, monotonicNanoseconds: 5)
    clock.sleep(milliseconds: 3)
    clock.advance(milliseconds: -7)
    #expect(clock.wallMilliseconds() == 1003 && clock.monotonicNanoseconds() == 3_000_005)
    clock.setWall(milliseconds: -1)
    #expect(clock.wallMilliseconds() == -1 && clock.monotonicNanoseconds() == 3_000_005)
  }

  @Test func randomBytesRepeatFromTheirSeedAndDifferAfterAReboot() throws {
    let world = SimulatedWorld(seed: 3)
    let first = try world.entropy.bytes(100)
    #expect(try SimulatedEntropy(seed: 3).bytes(100) == first)
    #expect(try SimulatedEntropy(seed: 4).bytes(100) != first)
    #expect(Set(first).count > 50)
    world.clock.advance(milliseconds: 10)
    let next = world.rebooted(world.disk.copy())
    #expect(try next.entropy.bytes(100) != first)
    #expect(next.clock.wallMilliseconds() == world.clock.wallMilliseconds())
    #expect(
      try next.rebooted(next.disk).entropy.bytes(100)
        != SimulatedWorld(seed: 3).rebooted(next.disk).entropy.bytes(100))
  }

  @Test func aWorldIsAnEnvironment() throws {
    let environment = SimulatedWorld().environment
    let file = try environment.fileSystem.openDirectory("/store", create: true).openFile("a", .create)
    try file.write([1], at: 0)
    #expect(file.announcesStores)
    #expect(try file.readAll() == [1])
  }

  @Test func stepsRunOnlyOnRequestAndNotAfterTheStop() throws {
    let work = SimulatedBackgroundWork()
    let count = Guarded(0)
    let task = try work.start { count.withLock { $0 += 1 } }
    #expect(work.runPending() == 0)
    task.wake()
    task.wake()
    #expect(work.hasPending && count.withLock { $0 } == 0)
    #expect(work.runPending() == 1 && !work.hasPending)
    work.runAll(times: 3)
    #expect(count.withLock { $0 } == 4)
    task.wake()
    task.stop()
    work.runAll()
    #expect(work.runPending() == 0 && count.withLock { $0 } == 4 && work.taskNames.isEmpty)
  }

  @Test func stepThatWakesItselfRunsAgainButNotForever() throws {
    let work = SimulatedBackgroundWork()
    let task = Guarded<(any BackgroundTask)?>(nil)
    task.withLock {
      $0 = try? work.start { task.withLock { $0 }?.wake() }
    }
    task.withLock { $0 }?.wake()
    #expect(work.runPending(limit: 25) == 25)
    // The step holds its own task.
    task.withLock { $0 }?.stop()
  }

  @Test func inlineStepsRunAtTheWakeAndNeverInsideThemselves() throws {
    let work = SimulatedBackgroundWork(.inline)
    let log = Guarded<[String]>([])
    let task = Guarded<(any BackgroundTask)?>(nil)
    let started = try work.start {
      let round = log.withLock { log -> Int in
        log.append("begin")
        return log.count
      }
      if round == 1 { task.withLock { $0 }?.wake() }
      log.withLock { $0.append("end") }
    }
    task.withLock { $0 = started }
    started.wake()
    #expect(log.withLock { $0 } == ["begin", "end", "begin", "end"])
    started.stop()
  }

  @Test func aStepIsNeverRunInsideItself() throws {
    let work = SimulatedBackgroundWork()
    let depth = Guarded((now: 0, most: 0))
    let task = try work.start {
      let now = depth.withLock { depth -> Int in
        depth.now += 1
        depth.most = max(depth.most, depth.now)
        return depth.now
      }
      if now < 3 { work.runAll() }
      depth.withLock { $0.now -= 1 }
    }
    work.runAll()
    #expect(depth.withLock { $0.most } == 1)
    task.stop()
  }

  @Test func aStepMayStopItsOwnTask() throws {
    let work = SimulatedBackgroundWork()
    let task = Guarded<(any BackgroundTask)?>(nil)
    task.withLock {
      $0 = try? work.start { task.withLock { $0 }?.stop() }
    }
    work.runAll(times: 2)
    #expect(work.taskNames.isEmpty)
  }

  @Test func startsCanFail() throws {
    let work = SimulatedBackgroundWork()
    work.failStarts(with: SystemError(code: ErrorCode.noMemory, operation: "start thread", path: ""))
    #expect(code { _ = try work.start {} } == ErrorCode.noMemory)
  }
}

extension SimulatedBackgroundWork {
  /// Starts a task without times of its own.
  func start(_ step: @escaping @Sendable () -> Void) throws(SystemError) -> any BackgroundTask {
    try start(name: "upkeep", first: .whenWoken) {
      step()
      return .whenWoken
    }
  }
}
