import Synchronization

/// The cores of one store: the current one, and those that it has replaced.
///
/// A store whose folder was deleted or replaced is created again under the same path, if the opening asked for it
/// (``StoreOptions/recreatesIfRemoved``). The call that meets the deletion opens another core and makes its change
/// there. Other calls that meet the deletion meanwhile wait for that one.
///
/// Gets must stay fast. So the first core is a constant of the store and lives as long as the store; to reach it, a get
/// reads one flag. A later core is reached through one of several seats. A get holds the lock of its seat while it
/// looks into the core. So a core that was removed from all seats is in use only while a reference or a pin holds it.
/// Each replacement releases the cores of earlier replacements that have no pins.
final class Succession: Sendable {
  /// Each seat holds the same core; threads are spread over the seats.
  private let seats: [Guarded<StoreCore>]
  private let state = Guarded(State())

  private struct State {
    /// Cores that were replaced. Gets may still have some of their segments pinned.
    var former: [StoreCore] = []
  }

  init(_ core: StoreCore) { seats = (0..<8).map { _ in Guarded(core) } }

  /// The seat of the calling thread.
  var seat: Guarded<StoreCore> {
    seats[Int(UInt(bitPattern: Unmanaged.passUnretained(ThreadContext.current).toOpaque()) >> 7 & 7)]
  }

  /// Returns the core whose segment a pin holds.
  func owner(of pin: Pin) -> StoreCore? {
    let current = seat.withLock { $0 }
    if current.context.catalog.segments.owns(pin) { return current }
    return state.withLock { $0.former.first { $0.context.catalog.segments.owns(pin) } }
  }

  /// Replaces a core by another one in all seats.
  func replace(_ core: StoreCore, by next: StoreCore) {
    state.withLock { state in
      state.former.removeAll { !$0.context.catalog.segments.hasPins }
      state.former.append(core)
    }
    for seat in seats { seat.withLock { $0 = next } }
  }
}

extension CacheStore {
  /// The current core, for calls that need not be fast.
  var core: StoreCore { isReplaced ? succession.seat.withLock { $0 } : first }

  @inline(__always)
  var isReplaced: Bool { hasSuccessor.load(ordering: .acquiring) }

  @inline(__always)
  func read<R>(_ body: (StoreCore) -> R) -> R { isReplaced ? body(core) : body(first) }

  /// Borrows bytes from a core that is not the first.
  @inline(never)
  func acquireLater(_ url: UnsafeRawBufferPointer, _ style: Style, _ source: Source?) -> Borrow {
    succession.seat.withLock { $0.reads.reader.borrow(url, style, source: source) }
  }

  /// Ends the borrow of bytes from a core that may not be the first. If the bytes are damaged, drops their entry and
  /// returns false.
  @inline(never)
  func releaseLater(_ borrow: Borrow) -> Bool {
    let core = owner(of: borrow)
    if core.reads.reader.endBorrow(borrow) { return true }
    core.checkpoints.entryRemover.dropDamaged(borrow)
    return false
  }

  /// The core that bytes were borrowed from.
  @inline(never)
  func owner(of borrow: Borrow) -> StoreCore { succession.owner(of: borrow.pin) ?? first }

  // MARK: Changes

  /// Makes a change. If the change is refused because the folder is gone, `forget` removes from the index the entries
  /// that the change would have replaced or removed. If the opening asked for recreation, the change is then made in a
  /// new store.
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

  /// Makes a change in a new store. The new folder may be removed too before the change is made; each turn handles one
  /// more removal.
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

  /// Runs a call that promises durability for all changes acknowledged before. After a folder was removed, one such
  /// call throws `storeRemoved`, even though another folder has replaced the removed one.
  @discardableResult
  func promise<R>(_ body: (StoreCore) throws(StoreError) -> R) throws(StoreError) -> R {
    let core = core
    let result: R
    do throws(StoreError) {
      result = try body(core)
    } catch {
      guard error == .storeRemoved else { throw error }
      _ = try successor(of: core)
      _ = hasLost.exchange(false, ordering: .acquiringAndReleasing)
      throw .storeRemoved
    }
    if hasLost.exchange(false, ordering: .acquiringAndReleasing) { throw .storeRemoved }
    return result
  }

  /// Returns the error for a body or a drawing that its core has refused. If the folder is gone, forgets the entries
  /// that the body would have replaced, and opens a new store if the options ask for that. The bytes written so far
  /// were removed with the folder, so the body does not appear in the new store. The error is then `aborted`, as after
  /// a removal of every entry.
  func refusal(_ error: StoreError, of core: StoreCore, _ key: CacheKey) -> StoreError {
    guard error == .storeRemoved, core.basics.gate.isRemoved else { return error }
    core.writes.forgetter.forget([key], withStyles: true)
    do throws(StoreError) {
      _ = try successor(of: core)
      return .aborted
    } catch {
      return error
    }
  }

  /// Makes a change that replaces and removes nothing.
  func change<R>(_ body: (StoreCore) throws(StoreError) -> R) throws(StoreError) -> R {
    try change(forgetting: { _ in }, body)
  }

  /// Returns the core of the folder that is in place now, for an operation that must begin and end in the same core.
  /// `forget` has the same meaning as for a change.
  func coreInPlace(forgetting forget: (StoreCore) -> Void) throws(StoreError) -> StoreCore {
    try change(forgetting: forget) { core throws(StoreError) in
      try core.basics.gate.requireWritable()
      try core.basics.gate.requireNamedNow()
      return core
    }
  }

  /// Removes the entries that `isWanted` accepts and aborts the bodies that `isWantedBody` accepts.
  func removeAll(
    _ durability: Durability?, includesExpired: Bool = true, where isWanted: (StoreCore, RecordView, KeySlot) -> Bool,
    orBody isWantedBody: (UnfinishedBody, _ receivedByteCount: Int) -> Bool
  ) throws(StoreError) -> Int {
    try change { core in
      core.writes.forgetter.forget { isWanted(core, $0, $1) }
    } _: { core throws(StoreError) in
      try core.writes.remover.removeAll(
        durability: durability, includesExpired: includesExpired, where: { isWanted(core, $0, $1) },
        orBody: isWantedBody)
    }
  }

  /// Makes gets miss the key for as long as the store stays open, for an adapter whose change was refused. This has an
  /// effect only after a failed write or sync, or if the folder is gone; otherwise the entry stays.
  package func conceal(_ key: CacheKey) { core.writes.forgetter.forget([key], withStyles: true) }

  /// Makes gets miss all keys, under the conditions of `conceal(_:)`.
  package func concealAll() { core.writes.forgetter.forgetAll() }

  // MARK: Another core

  /// Returns the core that replaces one whose folder is gone; the first caller opens it. Throws `storeRemoved` if the
  /// opening did not ask for recreation, `closed` after ``close()``, and the errors of opening.
  func successor(of core: StoreCore) throws(StoreError) -> StoreCore {
    guard options.recreatesIfRemoved, !options.isReadOnly else { throw .storeRemoved }
    return try succeeding.withLock { standing throws(StoreError) in
      guard case .open = standing else { throw .closed }
      let current = self.core
      if current !== core { return current }
      guard core.basics.gate.isRemoved else { throw .storeRemoved }
      if core.basics.gate.isClosed || core.basics.gate.isClosing { throw .closed }
      core.upkeep.closer.standDown()
      let next = try open(after: core)
      // Before the new core can acknowledge any change.
      hasLost.store(true, ordering: .releasing)
      core.context.events.move(to: next.context.events, opened: .opened(next.context.opening.lastOpen))
      succession.replace(core, by: next)
      hasSuccessor.store(true, ordering: .releasing)
      core.upkeep.closer.dropEverything()
      return next
    }
  }

  private func open(after core: StoreCore) throws(StoreError) -> StoreCore {
    var options = options
    options.createsIfMissing = true
    let (identity, nextSegment) = core.context.commitLock.withLock { held in
      (held.state.current, held.state.index.nextSegment)
    }
    let predecessor = Opening.Predecessor(
      identity: identity, opening: Sequence.opening(core.context.opening.firstSequence), nextSegment: nextSegment,
      isInPlace: core.context.folders.root.isStillNamed())
    var turns = 0
    while true {
      turns += 1
      do throws(StoreError) {
        // The whole path, because the process may have changed its working directory.
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
