#if os(Linux)
  import CCurl
  import Foundation
  import Glibc

  /// The event loop of a loader: one thread, which exists while there are transfers.
  ///
  /// Invariant: only the loop's thread uses `multi`, `transfers`, `waiting`, `idleHandles` and `nextDeadline`. A thread
  /// begins only after the previous one has set `isRunning` to false under the lock, and the last reference to the loop
  /// ends only after that.
  final class CurlLoop: @unchecked Sendable {
    /// The identity of a transfer, for other threads.
    final class Load: Sendable {
      fileprivate let isCanceled = Locked(false)
    }

    private struct Shared {
      var isRunning = false
      var added: [(load: Load, transfer: CurlTransfer)] = []
      /// References keep these loads alive, so no new load gets the identity of one of them.
      var canceled: [Load] = []

      var hasChanges: Bool { !added.isEmpty || !canceled.isEmpty }
    }

    let settings: CurlSettings
    private let shared = Locked(Shared())
    private let multi: UnsafeMutableRawPointer?
    private var transfers: [ObjectIdentifier: CurlTransfer] = [:]
    private var waiting = WaitingTransfers<CurlTransfer>()
    /// Cleared easy handles of ended transfers. A new handle costs more than a small download. Empty if a handle may not
    /// run again.
    private var idleHandles: [CurlHandle] = []
    /// A lower bound of all deadlines, in milliseconds of the monotonic clock.
    private var nextDeadline = UInt64.max

    /// The limits of all connections of a loader, to all hosts, and of idle connections.
    private static let mostConnections = 128
    private static let mostIdleConnections = 32
    private static let mostIdleHandles = 16

    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(_ settings: CurlSettings) {
      self.settings = settings
      multi = CurlLoop.isInitialized ? curl_multi_init() : nil
      set(CURLMOPT_MAX_HOST_CONNECTIONS, settings.connectionsPerHost)
      set(CURLMOPT_MAX_TOTAL_CONNECTIONS, max(CurlLoop.mostConnections, settings.connectionsPerHost))
      set(CURLMOPT_MAXCONNECTS, max(CurlLoop.mostIdleConnections, settings.connectionsPerHost))
    }

    deinit {
      for handle in idleHandles { handle.free() }
      guard let address = multi.map(UInt.init(bitPattern:)) else { return }
      // A separate thread with SIGPIPE blocked, because closing TLS connections may send bytes and raise the signal.
      Thread.detachNewThread {
        CurlLoop.blockPipeSignal()
        curl_multi_cleanup(UnsafeMutableRawPointer(bitPattern: address))
      }
    }

    private func set(_ option: CURLMoption, _ value: Int) {
      if let multi { vitrine_curl_multi_set_number(multi, option, value) }
    }

    // MARK: From any thread

    /// Adds the transfer that `make` creates, or ends it at once if the load was canceled.
    func start(_ load: Load, _ make: () -> CurlTransfer) {
      let transfer = make()
      guard multi != nil else {
        return transfer.finish(LoadError.unreachable("libcurl cannot start"))
      }
      enum Outcome { case canceled, begins, joins, joinsOthers }
      let outcome = shared.withLock { shared -> Outcome in
        // The task may have been canceled before this call.
        if load.isCanceled.withLock({ $0 }) { return .canceled }
        let isAwake = shared.hasChanges
        shared.added.append((load, transfer))
        if shared.isRunning { return isAwake ? .joinsOthers : .joins }
        shared.isRunning = true
        return .begins
      }
      switch outcome {
      case .canceled: transfer.finish(CancellationError())
      case .begins: Thread.detachNewThread { self.run() }
      case .joins: wake()
      // The thread that added the first pending change wakes the loop.
      case .joinsOthers: break
      }
    }

    func cancel(_ load: Load) {
      let mustWake = shared.withLock { shared in
        load.isCanceled.withLock { $0 = true }
        let isAwake = shared.hasChanges
        if shared.isRunning { shared.canceled.append(load) }
        return shared.isRunning && !isAwake
      }
      if mustWake { wake() }
    }

    private func wake() {
      if let multi { curl_multi_wakeup(multi) }
    }

    // MARK: The loop's thread

    private static func blockPipeSignal() {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    private func run() {
      CurlLoop.blockPipeSignal()
      guard let multi else { return }
      while takeChanges() {
        var runningCount: CInt = 0
        var code = curl_multi_perform(multi, &runningCount)
        let hasChanged = endTransfers(multi)
        let now = TransferClock.now()
        if now >= nextDeadline { expire(now) }
        if hasChanged || transfers.isEmpty { continue }
        let wait = nextDeadline > now ? nextDeadline - now : 0
        if code == CURLM_OK { code = curl_multi_poll(multi, nil, 0, CInt(min(wait, 60_000)), nil) }
        // Memory is short. Without a pause, the loop would try again at once.
        if code != CURLM_OK { usleep(10_000) }
      }
    }

    /// Begins and cancels transfers at the request of other threads. Returns false if no transfer is left. Another
    /// thread may then begin.
    private func takeChanges() -> Bool {
      let changes = shared.withLock { shared -> Shared? in
        if transfers.isEmpty, shared.added.isEmpty {
          shared = Shared()
          return nil
        }
        defer {
          shared.added = []
          shared.canceled = []
        }
        return shared
      }
      guard let changes else { return false }
      for (load, transfer) in changes.added {
        transfers[ObjectIdentifier(load)] = transfer
        transfer.load = load
        nextDeadline = min(nextDeadline, transfer.earliestDeadline(TransferClock.now()))
        if waiting.admits(transfer, connectionsPerHost: settings.connectionsPerHost) { begin(transfer) }
      }
      for load in changes.canceled {
        if let transfer = transfers[ObjectIdentifier(load)] { end(transfer, CancellationError()) }
      }
      return true
    }

    /// Begins a transfer. If that fails, ends it, and begins the next one.
    private func begin(_ transfer: CurlTransfer) {
      var next: CurlTransfer? = transfer
      while let transfer = next, !hasBegun(transfer) {
        next = conclude(transfer, LoadError.unreachable("libcurl has no memory"))
      }
    }

    private func hasBegun(_ transfer: CurlTransfer) -> Bool {
      if transfer.handle == nil { transfer.handle = idleHandles.popLast() ?? CurlHandle.make(settings) }
      guard let multi, let handle = transfer.handle, transfer.prepare(),
        curl_multi_add_handle(multi, handle.pointer) == CURLM_OK
      else { return false }
      nextDeadline = min(nextDeadline, transfer.earliestDeadline(TransferClock.now()))
      return true
    }

    private func endTransfers(_ multi: UnsafeMutableRawPointer) -> Bool {
      var hasChanged = false
      var leftCount: CInt = 0
      while let message = curl_multi_info_read(multi, &leftCount) {
        guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle else { continue }
        let code = message.pointee.data.result
        hasChanged = true
        guard let context = vitrine_curl_context(handle) else { continue }
        let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
        switch transfer.outcome(code) {
        case .ended(let error): end(transfer, error)
        case .redirected:
          curl_multi_remove_handle(multi, handle)
          if transfer.renewHandle() {
            begin(transfer)
          } else {
            end(transfer, LoadError.unreachable("libcurl has no memory"))
          }
        }
      }
      return hasChanged
    }

    private func expire(_ now: UInt64) {
      nextDeadline = .max
      for transfer in transfers.values {
        if now >= transfer.deadline {
          end(transfer, LoadError.timedOut)
        } else {
          nextDeadline = min(nextDeadline, transfer.earliestDeadline(now))
        }
      }
    }

    private func end(_ transfer: CurlTransfer, _ error: (any Error)?) {
      if let next = conclude(transfer, error) { begin(next) }
    }

    /// Ends a transfer, and returns the next one to begin, or nil.
    private func conclude(_ transfer: CurlTransfer, _ error: (any Error)?) -> CurlTransfer? {
      if let multi, let handle = transfer.handle {
        curl_multi_remove_handle(multi, handle.pointer)
        transfer.handle = nil
        keep(handle)
      }
      if let load = transfer.load { transfers[ObjectIdentifier(load)] = nil }
      transfer.finish(error)
      return waiting.next(after: transfer)
    }

    private func keep(_ handle: CurlHandle) {
      if CurlHandle.mayRunAgain, handle.clear(), idleHandles.count < CurlLoop.mostIdleHandles {
        idleHandles.append(handle)
      } else {
        handle.free()
      }
    }
  }
#endif
