import Dispatch

/// Notifies requests that could show a stale picture when a download fails or is silent.
///
/// Thread-safe.
final class DownloadWatch: Sendable {
  private struct State {
    var hasFailed = false
    /// The uptime in nanoseconds of the latest received bytes, or of the start.
    var progress = DispatchTime.now().uptimeNanoseconds
    var observers: [Int: @Sendable () -> Void] = [:]
    var lastNumber = 0
  }

  private let state = Locked(State())

  func noteProgress() { state.withLock { $0.progress = DispatchTime.now().uptimeNanoseconds } }

  /// Records that an attempt failed, and that another one follows.
  func noteFailure() {
    let observers = state.withLock { state in
      state.hasFailed = true
      return Array(state.observers.values)
    }
    for observer in observers { observer() }
  }

  /// Runs `body` with an observer. Calls the observer after a failed attempt, also an earlier one, and after this many
  /// milliseconds without received bytes. It may be called more than once.
  func observe<R: Sendable>(
    silence milliseconds: Int, _ observer: @escaping @Sendable () -> Void, during body: () async throws -> R
  ) async rethrows -> R {
    let (number, hasFailed) = state.withLock { state in
      state.lastNumber += 1
      state.observers[state.lastNumber] = observer
      return (state.lastNumber, state.hasFailed)
    }
    if hasFailed { observer() }
    let timer = Task { await call(observer, afterSilence: UInt64(min(max(milliseconds, 0), 1 << 40)) * 1_000_000) }
    defer {
      timer.cancel()
      state.withLock { $0.observers[number] = nil }
    }
    return try await body()
  }

  private func call(_ observer: @Sendable () -> Void, afterSilence limit: UInt64) async {
    while !Task.isCancelled {
      let (now, end) = (DispatchTime.now().uptimeNanoseconds, state.withLock { $0.progress } + limit)
      if now >= end { return observer() }
      try? await Task.sleep(nanoseconds: end - now)
    }
  }
}

/// The watches of downloads under way. The references are weak.
///
/// Thread-safe. A lookup is O(1); a new watch is O(n) in the watches held.
final class DownloadWatches<Download: Hashable & Sendable>: Sendable {
  private struct Weak {
    weak var watch: DownloadWatch?
  }

  private let watches = Locked<[Download: Weak]>([:])

  /// The watch of a download, for as long as the download or a request holds it.
  subscript(download: Download) -> DownloadWatch {
    watches.withLock { watches in
      if let watch = watches[download]?.watch { return watch }
      watches = watches.filter { $0.value.watch != nil }
      let watch = DownloadWatch()
      watches[download] = Weak(watch: watch)
      return watch
    }
  }
}
