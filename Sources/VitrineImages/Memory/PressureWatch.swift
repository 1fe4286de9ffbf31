#if os(Linux)
  import Foundation

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Watches Linux pressure stall information (Documentation/accounting/psi.rst). After a threshold is written to such
  /// a file, `poll` reports urgent data each time tasks have waited for memory longer than the threshold.
  ///
  /// One thread sleeps in `poll`, from `init` to ``stop()`` or until no file is left. Thread-safe.
  final class PressureWatch: Sendable {
    struct Trigger: Sendable {
      let file: Int32
      let level: MemoryPressure.Level
    }

    /// The shortest time between two reports. The effect of released memory is not visible immediately.
    static let pauseMilliseconds: Int32 = 1000

    /// The write end of the pipe whose read end wakes the thread; -1 once it is closed.
    private let wake: Locked<Int32>

    /// Takes ownership of the files. Returns nil if there are none, or if the pipe that wakes the thread cannot be
    /// created.
    init?(_ triggers: [Trigger], pauseMilliseconds: Int32 = pauseMilliseconds, tell: @escaping MemoryPressure.Tell) {
      var ends: [Int32] = [-1, -1]
      guard !triggers.isEmpty, pipe(&ends) == 0 else {
        for trigger in triggers { close(trigger.file) }
        return nil
      }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      wake = Locked(ends[1])
      let end = ends[0]
      let thread = Thread { PressureWatch.watch(triggers, end, pauseMilliseconds, tell) }
      thread.name = "vitrine.pressure"
      thread.stackSize = 256 << 10
      thread.start()
    }

    deinit { stop() }

    /// Ends the reports. A report that has begun may still end after this call.
    func stop() {
      wake.withLock { wake in
        if wake >= 0 { close(wake) }
        wake = -1
      }
    }

    private static func watch(
      _ triggers: [Trigger], _ end: Int32, _ pauseMilliseconds: Int32, _ tell: MemoryPressure.Tell
    ) {
      var triggers = triggers
      defer { for file in triggers.map(\.file) + [end] { close(file) } }
      while !triggers.isEmpty {
        var polled = [pollfd(fd: end, events: Int16(POLLIN), revents: 0)]
        polled += triggers.map { pollfd(fd: $0.file, events: Int16(POLLPRI), revents: 0) }
        let count = poll(&polled, nfds_t(polled.count), -1)
        if count < 0, errno == EINTR { continue }
        if count < 0 || polled[0].revents != 0 { return }
        let events = zip(triggers, polled.dropFirst().map(\.revents))
        if events.contains(where: { $0.0.level == .critical && $0.1 & Int16(POLLPRI) != 0 }) {
          tell(.critical)
        } else if events.contains(where: { $0.1 & Int16(POLLPRI) != 0 }) {
          tell(.warning)
        }
        // The file's cgroup was removed.
        let dead = Set(events.filter { $0.1 & Int16(POLLERR | POLLNVAL) != 0 }.map(\.0.file))
        for file in dead { close(file) }
        triggers.removeAll { dead.contains($0.file) }
        if triggers.isEmpty { return }
        if sleeps(pauseMilliseconds, orUntil: end) { return }
      }
    }

    /// Returns whether the watch was stopped during the sleep.
    private static func sleeps(_ milliseconds: Int32, orUntil end: Int32) -> Bool {
      var polled = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      return poll(&polled, 1, milliseconds) > 0
    }

    // MARK: Files

    /// The microseconds of waiting within a window of 2 s, the shortest window allowed to an unprivileged process.
    private static let thresholds: [(text: String, level: MemoryPressure.Level)] = [
      ("some 200000 2000000", .warning), ("full 200000 2000000", .critical),
    ]

    /// Returns the triggers of the first file that accepts them.
    static func triggers(_ paths: [String] = paths()) -> [Trigger] {
      for path in paths {
        let found = thresholds.compactMap { threshold in
          trigger(path, threshold.text).map { Trigger(file: $0, level: threshold.level) }
        }
        if !found.isEmpty { return found }
      }
      return []
    }

    private static func trigger(_ path: String, _ threshold: String) -> Int32? {
      let file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      guard file >= 0 else { return nil }
      // The text includes its terminating zero.
      let count = threshold.utf8.count + 1
      if threshold.withCString({ write(file, $0, count) }) == count { return file }
      close(file)
      return nil
    }

    /// The pressure file of the system, and that of the cgroup (version 2) named in `/proc/self/cgroup`.
    static func paths(cgroups: String? = try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8)) -> [String]
    {
      let group = (cgroups ?? "").split(separator: "\n").first { $0.hasPrefix("0::/") }?.dropFirst(4)
      return ["/proc/pressure/memory"] + (group.map { ["/sys/fs/cgroup/\($0)/memory.pressure"] } ?? [])
    }
  }
#endif
