import Synchronization

// A store whose folder was deleted or replaced is made anew in place, where the opening wants it
// (``StoreOptions/recreatesIfRemoved``). The call that meets the deletion opens another core under the same path and makes
// its change there; others that meet it meanwhile wait for that one.
//
// Gets must not pay for it, so the first core is a constant of the store and lives as long as it: a get asks one flag. A
// later core is reached through one of several seats. A get holds its seat's lock for as long as it looks into the core,
// so a core that was taken from all seats is in use only where a reference or a pin says so, and goes once neither is left.
final class Succession: Sendable {
  /// The same core in each; threads share them out.
  private let seats: [Guarded<StoreCore>]
  private let state = Guarded(State())

  private struct State {
    /// Cores that were replaced. Gets may still have segments of theirs pinned.
    var former: [StoreCore] = []
  }

  init(_ core: StoreCore) { seats = (0..<8).map { _ in Guarded(core) } }

  /// The seat of the calling thread.
  var seat: Guarded<StoreCore> {
    seats[Int(UInt(bitPattern: Unmanaged.passUnretained(ThreadContext.current).toOpaque()) >> 7 & 7)]
  }

  /// The core in whose segments a pin holds.
  func owner(of pin: Pin) -> StoreCore? {
    let current = seat.withLock { $0 }
    if current.context.catalog.segments.owns(pin) { return current }
    return state.withLock { $0.former.first { $0.context.catalog.segments.owns(pin) } }
  }

  /// Puts a core in the place of another one.
  func replace(_ core: StoreCore, by next: StoreCore) {
    state.withLock { state in
      state.former.removeAll { !$0.context.catalog.segments.hasPins }
      state.former.append(core)
    }
    for seat in seats { seat.withLock { $0 = next } }
  }
}

extension CacheStore {
  /// The core of now, for calls that may take their time.
  var core: StoreCore { isReplaced ? succession.seat.withLock { $0 } : first }

  @inline(__always)
  var isReplaced: Bool { hasSuccessor.load(ordering: .acquiring) }

  @inline(__always)
  func read<R>(_ body: (StoreCore) -> R) -> R { isReplaced ? body(core) : body(first) }

  /// Finds bytes in a core that is not the first.
  @inline(never)
  func acquireLater(_ url: UnsafeRawBufferPointer, _ style: Style, _ source: Source?) -> Borrow {
    succession.seat.withLock { $0.reader.borrow(url, style, source: source) }
  }

  /// Gives bytes back to a core that may not be the first.
  @inline(never)
  func releaseLater(_ borrow: Borrow) -> Bool {
    let core = owner(of: borrow)
    if core.reader.giveBack(borrow) { return true }
    core.entryRemover.dropDamaged(borrow)
    return false
  }

  /// The core that bytes were borrowed from.
  @inline(never)
  func owner(of borrow: Borrow) -> StoreCore { succession.owner(of: borrow.pin) ?? first }

  // MARK: Changes

  /// Makes a change. When it is refused because the folder has gone, `forget` takes out of the index what the change would
  /// have replaced or removed; where the opening wants it, the change is made in a new store then.
  @inline(__always)
  func change<R>(
    forgetting forget: (StoreCore) -> Void, _ body: (StoreCore) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    if isReplaced { return try change(core, forget, body) }
    do throws(StoreError) {
      return try body(first)
    } catch {
      guard error == .storeRemoved else { throw error }
      return try changeAnew(first, forget, body)
    }
  }

  @inline(never)
  private func change<R>(
    _ core: StoreCore, _ forget: (StoreCore) -> Void, _ body: (StoreCore) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body(core)
    } catch {
      guard error == .storeRemoved else { throw error }
      return try changeAnew(core, forget, body)
    }
  }

  /// The new folder may be removed as well, before this call has come to its change. Each turn takes another removal.
  @inline(never)
  private func changeAnew<R>(
    _ core: StoreCore, _ forget: (StoreCore) -> Void, _ body: (StoreCore) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    var core = core
    for _ in 0..<100 {
      forget(core)
      core = try successor(of: core)
      do throws(StoreError) {
        return try body(core)
      } catch {
        guard error == .storeRemoved else { throw error }
      }
    }
    throw .storeRemoved
  }

  /// Runs what promises durability for everything acknowledged before. It fails once when a folder has gone since, even
  /// though another one has taken its place.
  func promise(_ body: (StoreCore) throws(StoreError) -> Void) throws(StoreError) {
    let core = core
    do throws(StoreError) {
      try body(core)
    } catch {
      guard error == .storeRemoved else { throw error }
      _ = try successor(of: core)
      _ = hasLost.exchange(false, ordering: .acquiringAndReleasing)
      throw .storeRemoved
    }
    if hasLost.exchange(false, ordering: .acquiringAndReleasing) { throw .storeRemoved }
  }

  /// The error of a body or a drawing whose core refused it. The bytes that it has written so far went with the
  /// folder, so it does not appear in a new store: it is `aborted` there, as by a removal of everything.
  func refusal(_ error: StoreError, of core: StoreCore, _ key: CacheKey) -> StoreError {
    guard error == .storeRemoved, core.gate.isRemoved else { return error }
    core.forgetter.forget([key], withStyles: true)
    do throws(StoreError) {
      _ = try successor(of: core)
      return .aborted
    } catch {
      return error
    }
  }

  /// The same for a change that replaces and removes nothing.
  func change<R>(_ body: (StoreCore) throws(StoreError) -> R) throws(StoreError) -> R {
    try change(forgetting: { _ in }, body)
  }

  /// The core of a folder that is in its place now, for what begins in one core and has to end there. `forget` as for a
  /// change.
  func coreInPlace(forgetting forget: (StoreCore) -> Void) throws(StoreError) -> StoreCore {
    try change(forgetting: forget) { core throws(StoreError) in
      try core.gate.requireWritable()
      try core.gate.requireNamedNow()
      return core
    }
  }

  /// Removes what `isWanted` picks.
  func removeAll(
    _ durability: Durability?, includesExpired: Bool = true, where isWanted: (StoreCore, RecordView, KeySlot) -> Bool,
    orBody isWantedBody: (UnfinishedBody, _ receivedByteCount: Int) -> Bool
  ) throws(StoreError) -> Int {
    try change { core in
      core.forgetter.forget { isWanted(core, $0, $1) }
    } _: { core throws(StoreError) in
      try core.remover.removeAll(
        durability: durability, includesExpired: includesExpired, where: { isWanted(core, $0, $1) },
        orBody: isWantedBody)
    }
  }

  /// For an adapter that has been refused a change: gets miss the key from here on, as long as the store stays open. Only
  /// after a failed write or sync, or where the folder has gone; else the entry stays.
  package func conceal(_ key: CacheKey) { core.forgetter.forget([key], withStyles: true) }

  /// The same for all keys.
  package func concealAll() { core.forgetter.forgetAll() }

  // MARK: Another core

  /// The core in place of one whose folder has gone; the first caller opens it. Throws `storeRemoved` where the opening
  /// does not want one, `closed` after ``close()``, and what opening throws.
  func successor(of core: StoreCore) throws(StoreError) -> StoreCore {
    guard options.recreatesIfRemoved, !options.isReadOnly else { throw .storeRemoved }
    return try succeeding.withLock { _ throws(StoreError) in
      let current = self.core
      if current !== core { return current }
      guard core.gate.isRemoved else { throw .storeRemoved }
      if core.gate.isClosed || core.gate.isClosing { throw .closed }
      core.closer.standDown()
      let next = try open(after: core)
      // Before any change can be acknowledged by the new one.
      hasLost.store(true, ordering: .releasing)
      succession.replace(core, by: next)
      hasSuccessor.store(true, ordering: .releasing)
      core.closer.dismiss()
      return next
    }
  }

  private func open(after core: StoreCore) throws(StoreError) -> StoreCore {
    var options = options
    options.createsIfMissing = true
    let (identity, nextSegment) = core.context.commitLock.withLock { held in
      (held.state.current, core.context.catalog.nextSegment)
    }
    let predecessor = Opening.Predecessor(
      identity: identity, opening: Sequence.opening(core.context.firstSequence), nextSegment: nextSegment,
      isInPlace: core.context.folders.root.isStillNamed())
    var turns = 0
    while true {
      turns += 1
      do throws(StoreError) {
        // The process may work in another folder by now, so by the whole path.
        return try Opening(
          path: core.context.folders.root.path, options: options, environment: core.context.environment,
          predecessor: predecessor
        ).run()
      } catch {
        // The folder may have been removed again while it was being filled.
        guard case .system(let cause) = error, cause.code == SystemError.missing, turns < 4 else { throw error }
      }
    }
  }
}
