#if canImport(Darwin)
  import Dispatch
#endif

/// Reports memory shortage of the system. The source on Linux is pressure stall information, of the system or, if that
/// cannot be watched, of this process's cgroup. On Apple platforms it is the system's memory pressure event. On
/// systems without either, it reports nothing.
///
/// The system is watched while there are observers; on Linux by one thread, which sleeps. Thread-safe.
public final class MemoryPressure: Sendable {
  /// The levels of memory pressure.
  public enum Level: Sendable, Hashable, CaseIterable {
    /// Some tasks wait for memory at times.
    case warning
    /// All tasks wait for memory, or the system is about to kill processes.
    case critical

    /// The share of its memory contents that a pipeline keeps.
    var share: Double {
      switch self {
      case .warning: 0.5
      case .critical: 0
      }
    }
  }

  /// An observation, which lasts until this object is released.
  public final class Observation: Sendable {
    private let end: @Sendable () -> Void
    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
  }

  typealias Tell = @Sendable (Level) -> Void
  /// Starts a watch and returns the closure that ends it, or nil if the watch is not possible.
  typealias Watch = @Sendable (_ tell: @escaping Tell) -> (@Sendable () -> Void)?

  private struct State {
    var observers: [Int: Tell] = [:]
    var nextNumber = 0
    var stop: (@Sendable () -> Void)?
  }

  private let watch: Watch
  private let state = Locked(State())

  /// Creates a reporter of the system's memory pressure.
  public convenience init() { self.init(MemoryPressure.system) }

  /// Creates a reporter with a given watch. With nil, only ``report(_:)`` reports levels.
  init(_ watch: Watch?) { self.watch = watch ?? { _ in nil } }

  /// Returns an object that watches nothing. The app calls ``report(_:)``.
  public static func manual() -> MemoryPressure { MemoryPressure(nil) }

  /// Calls `observer`, on any thread, at each report of memory pressure, until the result is released.
  public func observe(_ observer: @escaping @Sendable (Level) -> Void) -> Observation {
    let number = state.withLock { state in
      state.nextNumber += 1
      state.observers[state.nextNumber] = observer
      if state.stop == nil { state.stop = watch { [weak self] in self?.report($0) } }
      return state.nextNumber
    }
    return Observation { [weak self] in self?.end(number) }
  }

  /// Calls all observers, as a report of the system would.
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
