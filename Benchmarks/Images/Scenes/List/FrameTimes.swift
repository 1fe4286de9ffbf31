/// The time for which a thread works on each frame.
struct FrameTimes {
  /// In seconds, for one frame.
  static let limit = 0.002

  struct Summary: Codable, Sendable {
    var mean = 0.0
    var percentile99 = 0.0
    var most = 0.0
    /// Frames that took more than ``FrameTimes/limit``.
    var aboveLimit = 0

    init() {}

    init(_ seconds: [Double]) {
      let sorted = seconds.sorted()
      guard let last = sorted.last else { return }
      mean = sorted.reduce(0, +) / Double(sorted.count)
      percentile99 = sorted[sorted.count * 99 / 100]
      most = last
      aboveLimit = sorted.count { $0 > FrameTimes.limit }
    }
  }

  private var cpuSeconds: [Double] = []
  private var wallSeconds: [Double] = []

  var count: Int { cpuSeconds.count }
  var cpu: Summary { Summary(cpuSeconds) }
  var wall: Summary { Summary(wallSeconds) }

  mutating func measure(_ body: () -> Void) {
    let start = (wall: WallTime.now, cpu: CPUTime.thread)
    body()
    cpuSeconds.append(CPUTime.thread - start.cpu)
    wallSeconds.append(WallTime.now - start.wall)
  }
}
