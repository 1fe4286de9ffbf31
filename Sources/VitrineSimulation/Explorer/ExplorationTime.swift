import Vitrine

/// The time of an exploration, by the machine's clock, and its limit.
struct ExplorationTime: Sendable {
  private let clock = Environment.posix.clock
  /// Nanoseconds of the clock.
  let began: UInt64
  private let deadline: UInt64

  /// Begins now. Nil: without a limit.
  init(seconds: Double?) {
    let began = clock.monotonicNanoseconds()
    self.began = began
    deadline = seconds.map { began + UInt64(max(0, min($0, 1e9)) * 1e9) } ?? .max
  }

  var now: UInt64 { clock.monotonicNanoseconds() }
  var isOver: Bool { now >= deadline }
  var seconds: Double { Double(now - began) / 1e9 }
  /// The passed share of the limit; nil without one.
  var share: Double? { deadline == .max ? nil : Double(now - began) / Double(deadline - began) }
}
