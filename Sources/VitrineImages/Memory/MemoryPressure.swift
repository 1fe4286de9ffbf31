#if canImport(Darwin)
  import Dispatch
#endif

/// Tells when the system gets short of memory: by Linux's pressure stall information (of the system, or where that may not
/// be watched of this process's cgroup), by the system's own notice on Apple platforms. Where there is neither it is quiet.
///
/// The system is watched while there are observers: on Linux by one thread, which sleeps. Safe from any thread.
public final class MemoryPressure: Sendable {
  /// The degrees of memory pressure.
  public enum Level: Sendable, Hashable, CaseIterable {
    /// Tasks wait for memory at times.
    case warning
    /// All of them do, or the system is about to kill.
    case critical

    /// What is left of what a pipeline holds in memory.
    var share: Double {
      switch self {
      case .warning: 0.5
      case .critical: 0
      }
    }
  }

  /// Observes as long as it is referenced.
  public final class Observation: Sendable {
    private let end: @Sendable () -> Void
    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  typealias Tell = @Sendable (Level) -> Void
  /// Begins to watch, and answers what ends it; nil where there is nothing to watch.
  typealias Watch = @Sendable (_ tell: @escaping Tell) -> (@Sendable () -> Void)?

  private struct State {
    var observers: [Int: Tell] = [:]
    var nextNumber = 0
    var stop: (@Sendable () -> Void)?
  }

  private let watch: Watch
  private let state = Locked(State())

  /// The system's.
  public convenience init() { self.init(MemoryPressure.system) }

  /// Of whatever watches; or, with nil, only of what ``report(_:)`` is told.
  init(_ watch: Watch?) { self.watch = watch ?? { _ in nil } }

  /// Nobody watches; ``report(_:)`` tells.
  public static func manual() -> MemoryPressure { MemoryPressure(nil) }

  /// Calls `observer`, on some thread, each time that memory gets short.
  public func observe(_ observer: @escaping @Sendable (Level) -> Void) -> Observation {
    let number = state.withLock { state in
      state.nextNumber += 1
      state.observers[state.nextNumber] = observer
      if state.stop == nil { state.stop = watch { [weak self] in self?.report($0) } }
      return state.nextNumber
    }
    return Observation { [weak self] in self?.end(number) }
  }

  /// Tells all observers, as if the system had.
  public func report(_ level: Level) {
    for observer in state.withLock({ Array($0.observers.values) }) { observer(level) }
  }

  private func end(_ number: Int) {
    let stop = state.withLock { state -> (@Sendable () -> Void)? in
      state.observers[number] = nil
      guard state.observers.isEmpty else { return nil }
      defer { state.stop = nil }
      return state.stop
    }
    stop?()
  }

  deinit { state.withLock { $0.stop }?() }
}

extension MemoryPressure {
  fileprivate static let system: Watch = { tell in
    #if canImport(Darwin)
      let source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: .global())
      source.setEventHandler { [weak source] in
        guard let event = source?.data else { return }
        tell(event.contains(.critical) ? .critical : .warning)
      }
      source.activate()
      nonisolated(unsafe) let held = source
      return { held.cancel() }
    #elseif os(Linux)
      guard let watch = PressureWatch(PressureWatch.triggers(), tell: tell) else { return nil }
      return { watch.stop() }
    #else
      return nil
    #endif
  }
}
