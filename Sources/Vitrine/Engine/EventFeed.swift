import Synchronization

/// The number of events that a sequence has lost.
final class LostEvents: Sendable {
  let count = Atomic<Int>(0)
}

/// Hands the events of a store to the sequences that wait for them.
final class EventFeed: Sendable {
  private struct Subscriber {
    let continuation: AsyncStream<CacheEvent>.Continuation
    let lost: LostEvents
  }

  private struct State {
    var subscribers: [Int: Subscriber] = [:]
    var lastNumber = 0
    var isFinished = false
    /// The feed of the core that has replaced this feed's core.
    var successor: EventFeed?
    /// The evictions since the last event about them, and the time of that event in milliseconds since 1970.
    var evicted = (entries: 0, bytes: 0)
    var lastPressure: Int64?
  }

  private let state = Guarded(State())
  /// Whether any sequence waits. Read before an event is made.
  private let isFollowed = Atomic<Bool>(false)

  var hasSubscribers: Bool { isFollowed.load(ordering: .relaxed) }

  /// Adds a sequence, until its task ends or the store is closed.
  func add(_ continuation: AsyncStream<CacheEvent>.Continuation, _ lost: LostEvents) {
    let subscriber = Subscriber(continuation: continuation, lost: lost)
    let added: (number: Int?, successor: EventFeed?) = state.withLock { state in
      if state.isFinished || state.successor != nil { return (nil, state.successor) }
      state.lastNumber += 1
      state.subscribers[state.lastNumber] = subscriber
      isFollowed.store(true, ordering: .relaxed)
      return (state.lastNumber, nil)
    }
    if let successor = added.successor { return successor.add(continuation, lost) }
    guard let number = added.number else { return continuation.finish() }
    continuation.onTermination = { [weak self] _ in self?.remove(number) }
  }

  private func remove(_ number: Int) {
    state.withLock { state in
      state.subscribers[number] = nil
      if state.subscribers.isEmpty { isFollowed.store(false, ordering: .relaxed) }
    }
  }

  /// Hands an event to all sequences. Takes no lock of the store, and may be called under any.
  func send(_ event: CacheEvent) {
    guard hasSubscribers else { return }
    for (number, subscriber) in state.withLock({ $0.subscribers }) {
      switch subscriber.continuation.yield(event) {
      case .dropped: subscriber.lost.count.add(1, ordering: .relaxed)
      // Its task may have ended while it was being added.
      case .terminated: remove(number)
      default: break
      }
    }
  }

  /// Hands the removals of a commit to all sequences, after the commit and under its lock: the records are still there.
  func send(
    _ changes: [Change], because reason: @autoclosure () -> CacheEvent.RemovalReason, _ held: borrowing CommitLock.Held
  ) {
    guard hasSubscribers else { return }
    let reason = reason()
    for change in changes {
      switch change {
      case .put(let put):
        // A change of metadata, and a put of the same bytes, replace no value.
        if let displaced = put.displaced, displaced.content != put.content {
          send(.removed(key(at: displaced.location, held), .replaced))
        }
      case .remove(_, let displaced): send(.removed(key(at: displaced.location, held), reason))
      case .removeAll: send(.removedAll)
      default: break
      }
    }
  }

  private func key(at location: Location, _ held: borrowing CommitLock.Held) -> CacheKey? {
    held.state.index.lockedRecord(at: location, checks: true)?.key
  }

  /// Counts evicted entries, and tells of them at most once a minute.
  func noteEviction(entries: Int, bytes: Int, at now: Int64) {
    guard hasSubscribers else { return }
    let sum: (entries: Int, bytes: Int)? = state.withLock { state in
      state.evicted.entries += entries
      state.evicted.bytes += bytes
      // A clock that was set back begins the minute again.
      if let last = state.lastPressure, now >= last, now - last < 60_000 { return nil }
      state.lastPressure = now
      defer { state.evicted = (0, 0) }
      return state.evicted
    }
    if let sum { send(.pressure(evictedEntryCount: sum.entries, evictedByteCount: sum.bytes)) }
  }

  /// Moves all sequences to the feed of the core that replaces this one's, and tells them how that core was opened.
  func move(to successor: EventFeed, opened event: CacheEvent) {
    let moved = state.withLock { state in
      state.successor = successor
      defer { state.subscribers = [:] }
      return state.subscribers.sorted { $0.key < $1.key }.map(\.value)
    }
    isFollowed.store(false, ordering: .relaxed)
    for subscriber in moved {
      if case .dropped = subscriber.continuation.yield(event) { subscriber.lost.count.add(1, ordering: .relaxed) }
      successor.add(subscriber.continuation, subscriber.lost)
    }
  }

  /// Ends all sequences, because the store is closed.
  func finish() {
    let ended = state.withLock { state in
      state.isFinished = true
      defer { state.subscribers = [:] }
      return Array(state.subscribers.values)
    }
    isFollowed.store(false, ordering: .relaxed)
    for subscriber in ended { subscriber.continuation.finish() }
  }
}
