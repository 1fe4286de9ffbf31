import Dispatch

/// Notifies requests of a download: those that could show a stale picture when it fails or is silent, and those that
/// show its progress.
///
/// Thread-safe.
final class DownloadWatch: Sendable {
  private struct State {
    var hasFailed = false
    /// The uptime in nanoseconds of the latest received bytes, or of the start.
    var progress = DispatchTime.now().uptimeNanoseconds
    var observers: [Int: @Sendable () -> Void] = [:]
    var listeners: [Int: Listener] = [:]
    /// The bytes so far, if a body is being received.
    var received: DownloadProgress?
    var lastNumber = 0
  }

  private struct Listener {
    let progress: @Sendable (DownloadProgress) -> Void
    let part: (@Sendable ([UInt8]) -> Void)?
  }

  /// The number of parts of a progressive JPEG that a download shows at most.
  let mostParts: Int
  private let state = Locked(State())

  init(mostParts: Int = 0) { self.mostParts = mostParts }

  /// Whether a request shows parts of a progressive JPEG.
  var wantsParts: Bool { mostParts > 0 && state.withLock { $0.listeners.values.contains { $0.part != nil } } }

  /// Passes a part of a progressive JPEG to the requests that show parts.
  func notePart(_ bytes: [UInt8]) {
    let listeners = state.withLock { $0.listeners.values.compactMap(\.part) }
    for listener in listeners { listener(bytes) }
  }

  /// Notes that bytes have arrived. `received`: those of the body so far; nil if they are not the picture's.
  func noteProgress(_ received: DownloadProgress?) {
    let listeners = state.withLock { state in
      state.progress = DispatchTime.now().uptimeNanoseconds
      state.received = received
      return received == nil ? [] : Array(state.listeners.values)
    }
    if let received { for listener in listeners { listener.progress(received) } }
  }

  /// Runs `body` with a listener, which is told the bytes of the download: at once if a body is being received, and
  /// whenever bytes arrive, on the thread that brings them. `part` gets the parts of a progressive JPEG.
  func follow<R: Sendable>(
    parts part: (@Sendable ([UInt8]) -> Void)? = nil, _ listener: @escaping @Sendable (DownloadProgress) -> Void,
    during body: () async throws -> R
  ) async rethrows -> R {
    let (number, received) = state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = Listener(progress: listener, part: part)
      return (state.lastNumber, state.received)
    }
    if let received { listener(received) }
    defer { state.withLock { $0.listeners[number] = nil } }
    return try await body()
  }

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

  private let mostParts: Int
  private let watches = Locked<[Download: Weak]>([:])

  init(mostParts: Int) { self.mostParts = mostParts }

  /// The watch of a download, for as long as the download or a request holds it.
  subscript(download: Download) -> DownloadWatch {
    watches.withLock { watches in
      if let watch = watches[download]?.watch { return watch }
      watches = watches.filter { $0.value.watch != nil }
      let watch = DownloadWatch(mostParts: mostParts)
      watches[download] = Weak(watch: watch)
      return watch
    }
  }
}
