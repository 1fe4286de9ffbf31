import CacheCtlBase
import Dispatch
import Glibc
import Vitrine
import VitrineImages

/// Opens a store for writing only while pictures are stored, so that other processes can write in between.
///
/// Changes that overlap share one opening. It is closed once no change has run for ``lingerMilliseconds``. After
/// ``turnMilliseconds`` it takes no further change, and the store stays closed for ``pauseMilliseconds``, more than
/// the pause between two attempts of another waiting process.
actor BriefWriter {
  private static let lingerMilliseconds: UInt64 = 20
  private static let turnMilliseconds: UInt64 = 300
  private static let pauseMilliseconds: UInt64 = 40

  private let open: @Sendable () throws -> CacheStore
  private let lock: LockWait
  private var opening: Task<StoreStorage, any Error>?
  private var openedAt: UInt64 = 0
  /// The earliest time of the next opening.
  private var pauseEnd: UInt64 = 0
  private var userCount = 0
  private var isClosing = false
  private var isEnded = false
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private let errors = Locked<(lock: StoreError?, closing: StoreError?)>((nil, nil))

  /// `open` opens the store for writing and does not wait for its lock.
  init(_ lock: LockWait, _ open: @escaping @Sendable () throws -> CacheStore) {
    self.lock = lock
    self.open = open
  }

  /// Runs a change. Throws the errors of the opening and of `body`, and `CancellationError` after ``end()``.
  func change<R: Sendable>(_ body: @Sendable (StoreStorage) async throws -> R) async throws -> R {
    let storage = try await begin()
    do {
      let result = try await body(storage)
      await leave()
      return result
    } catch {
      await leave()
      throw error
    }
  }

  /// The error if another process kept the lock. Later changes throw it at once.
  nonisolated var lockError: StoreError? { errors.withLock { $0.lock } }
  /// The first error of a closing.
  nonisolated var closingError: StoreError? { errors.withLock { $0.closing } }

  /// Waits for running changes and closes the store. Later changes throw `CancellationError`.
  func end() async {
    isEnded = true
    while userCount > 0 || isClosing { await waitForTurn() }
    await close()
  }

  // MARK: Turns

  private func begin() async throws -> StoreStorage {
    while opening != nil, isClosing || isOver { await waitForTurn() }
    if isEnded { throw CancellationError() }
    if let lockError { throw lockError }
    userCount += 1
    let task =
      opening
      ?? Task { [lock, open, pauseEnd] in
        try await BriefWriter.blocking {
          let now = DispatchTime.now().uptimeNanoseconds
          if pauseEnd > now { usleep(UInt32((pauseEnd - now) / 1000)) }
          return StoreStorage(try lock.run(open))
        }
      }
    opening = task
    do {
      let storage = try await task.value
      if openedAt == 0 { openedAt = DispatchTime.now().uptimeNanoseconds }
      return storage
    } catch {
      userCount -= 1
      if opening == task { opening = nil }
      if let error = error as? StoreError, case .locked = error { errors.withLock { $0.lock = error } }
      announce()
      throw error
    }
  }

  private var isOver: Bool {
    openedAt > 0
      && DispatchTime.now().uptimeNanoseconds > openedAt + BriefWriter.turnMilliseconds * 1_000_000
  }

  private func leave() async {
    userCount -= 1
    if userCount > 0 { return }
    if isEnded { return announce() }
    if isOver || !waiting.isEmpty { return await close() }
    let turn = openedAt
    Task {
      try? await Task.sleep(nanoseconds: BriefWriter.lingerMilliseconds * 1_000_000)
      await self.close(ifUnusedSince: turn)
    }
  }

  private func close(ifUnusedSince turn: UInt64) async {
    if userCount == 0, openedAt == turn { await close() }
  }

  private func close() async {
    guard !isClosing, let task = opening else { return }
    isClosing = true
    let store = (try? await task.value)?.store
    do throws(StoreError) {
      try await store?.asynchronous.close()
    } catch {
      errors.withLock { $0.closing = $0.closing ?? error }
    }
    pauseEnd = DispatchTime.now().uptimeNanoseconds + BriefWriter.pauseMilliseconds * 1_000_000
    openedAt = 0
    opening = nil
    isClosing = false
    announce()
  }

  /// Waits until the store is closed or a change has ended.
  private func waitForTurn() async { await withCheckedContinuation { waiting.append($0) } }

  private func announce() {
    let waiting = waiting
    self.waiting = []
    for continuation in waiting { continuation.resume() }
  }

  private static func blocking<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
  }
}
