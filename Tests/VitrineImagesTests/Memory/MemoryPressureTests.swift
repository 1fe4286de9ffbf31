import Foundation
import Testing

@testable import VitrineImages

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct MemoryPressureTests {
  @Test func observersAreCalledWhileTheirObservationIsHeld() {
    let pressure = MemoryPressure.manual()
    let heard = Locked<[String]>([])
    var first: MemoryPressure.Observation? = pressure.observe { level in heard.withLock { $0.append("a \(level)") } }
    let second = pressure.observe { level in heard.withLock { $0.append("b \(level)") } }
    pressure.report(.warning)
    #expect(heard.withLock { $0.sorted() } == ["a warning", "b warning"])
    withExtendedLifetime(first) {}
    first = nil
    pressure.report(.critical)
    #expect(heard.withLock { $0.last } == "b critical" && heard.withLock { $0.count } == 3)
    withExtendedLifetime(second) {}
  }

  @Test func systemIsWatchedOnlyWhileThereAreObservers() {
    let (begun, ended) = (Locked(0), Locked(0))
    let tell = Locked<MemoryPressure.Tell?>(nil)
    let pressure = MemoryPressure { teller in
      begun.withLock { $0 += 1 }
      tell.withLock { $0 = teller }
      return { ended.withLock { $0 += 1 } }
    }
    #expect(begun.withLock { $0 } == 0)
    let heard = Locked<[MemoryPressure.Level]>([])
    var observations = (0..<2).map { _ in pressure.observe { level in heard.withLock { $0.append(level) } } }
    #expect(begun.withLock { $0 } == 1)
    tell.withLock { $0 }?(.critical)
    #expect(heard.withLock { $0 } == [.critical, .critical])
    observations.removeLast()
    #expect(ended.withLock { $0 } == 0)
    observations.removeLast()
    #expect(ended.withLock { $0 } == 1)
    observations.append(pressure.observe { _ in })
    #expect(begun.withLock { $0 } == 2)
    withExtendedLifetime(observations) {}
  }

  @Test func pressureTrimsTheMemoryOfAPipeline() async throws {
    let urls = (0..<8).map { "\($0)" }
    let bench = try PipelineBench(
      GatedLoader(Dictionary(uniqueKeysWithValues: urls.map { ($0, PipelineBench.jpeg) })))
    let pressure = MemoryPressure.manual()
    let pipeline = bench.pipeline { $0.memoryPressure = pressure }
    for url in urls { _ = try await pipeline.image(for: PictureRequest(url, style: .square(40))) }
    let full = pipeline.memory.totalCost
    #expect(pipeline.memory.count == 8 && full > 0)
    pressure.report(.warning)
    #expect((1...4).contains(pipeline.memory.count) && pipeline.memory.totalCost <= full / 2)
    // The most recently used pictures stay longest.
    #expect(pipeline.imageInMemory(for: PictureRequest("7", style: try .square(40))) != nil)
    pressure.report(.critical)
    #expect(pipeline.memory.count == 0 && pipeline.memory.totalCost == 0)
    try bench.end()
  }

  #if os(Linux)
    /// Returns the two ends of a local connection. For `poll`, urgent data looks like pressure.
    private func connection() throws -> (Int32, Int32) {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(listener) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          var size = socklen_t(MemoryLayout<sockaddr_in>.size)
          return bind(listener, pointer, size) == 0 && listen(listener, 1) == 0
            && getsockname(listener, pointer, &size) == 0 && connect(client, pointer, size) == 0
        }
      }
      guard isConnected, case let server = accept(listener, nil, nil), server >= 0 else {
        throw POSIXError(.ECONNREFUSED)
      }
      return (client, server)
    }

    @Test func kernelPressureIsReportedOnceAtTheHigherLevel() async throws {
      let (warning, critical) = (try connection(), try connection())
      let heard = Locked<[MemoryPressure.Level]>([])
      let watch = try #require(
        PressureWatch(
          [.init(file: warning.1, level: .warning), .init(file: critical.1, level: .critical)],
          pauseMilliseconds: 600_000
        ) { level in heard.withLock { $0.append(level) } })
      try await Task.sleep(nanoseconds: 20_000_000)
      #expect(heard.withLock { $0 }.isEmpty)
      #expect(send(critical.0, "!", 1, Int32(MSG_OOB)) == 1)
      try await until { heard.withLock { $0 } == [.critical] }
      // The pause suppresses a second report. `stop` ends the sleeping thread and closes its files.
      #expect(send(warning.0, "!", 1, Int32(MSG_OOB)) == 1)
      try await Task.sleep(nanoseconds: 20_000_000)
      watch.stop()
      var byte: UInt8 = 0
      #expect(recv(warning.0, &byte, 1, 0) <= 0 && heard.withLock { $0 } == [.critical])
      close(warning.0)
      close(critical.0)
    }

    @Test func filesThatTakeNoThresholdAreNotWatched() throws {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("pressure-\(UUID().uuidString)")
      try Data("some avg10=0.00\n".utf8).write(to: file)
      #expect(PressureWatch.triggers(["/nowhere/memory", "/proc/version"]).isEmpty)
      // The first file that takes the thresholds is used, and the files after it are not tried.
      let triggers = PressureWatch.triggers(["/nowhere/memory", file.path, "/proc/pressure/memory"])
      #expect(triggers.map(\.level) == [.warning, .critical])
      for trigger in triggers { close(trigger.file) }
      try FileManager.default.removeItem(at: file)
      #expect(PressureWatch([]) { _ in } == nil)
    }

    @Test func cgroupFileFollowsTheSystemFile() {
      let cgroups = "9:name=systemd:/\n4:memory:/a\n0::/user.slice/app\n"
      #expect(
        PressureWatch.paths(cgroups: cgroups)
          == ["/proc/pressure/memory", "/sys/fs/cgroup/user.slice/app/memory.pressure"])
      #expect(PressureWatch.paths(cgroups: nil) == ["/proc/pressure/memory"])
    }
  #endif
}
