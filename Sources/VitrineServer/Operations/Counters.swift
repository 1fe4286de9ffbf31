import Synchronization

/// The counted events of a server.
enum Counter: Int, CaseIterable {
  case getHits, getMisses, touchHits, touchMisses, sets, stored, flushes, metaCommands
  case deleteHits, deleteMisses, incrementHits, incrementMisses, decrementHits, decrementMisses
  case compareHits, compareMisses, compareMismatches
  case bytesRead, bytesSent
  case connections, rejectedConnections, acceptPauses, yields, requestErrors, timeouts, tooLarge, noRoom,
    authenticationErrors
  case successResponses, redirectResponses, clientErrorResponses, serverErrorResponses
}

/// The counters of one thread. Other threads read them.
///
/// Invariant: only one thread adds. The memory lives as long as the object.
final class Counters: @unchecked Sendable {
  private let values: UnsafeMutablePointer<Atomic<UInt64>>
  /// The durations of the thread's requests.
  let latencies = Latencies()

  init() {
    values = .allocate(capacity: Counter.allCases.count)
    for index in Counter.allCases.indices { (values + index).initialize(to: Atomic(0)) }
  }

  deinit {
    values.deinitialize(count: Counter.allCases.count)
    values.deallocate()
  }

  /// Counts an event. No other thread adds, so a load and a store are enough.
  @inline(__always)
  func add(_ counter: Counter, _ count: Int = 1) {
    let value = values[counter.rawValue].load(ordering: .relaxed)
    values[counter.rawValue].store(value &+ UInt64(truncatingIfNeeded: count), ordering: .relaxed)
  }

  subscript(counter: Counter) -> UInt64 { values[counter.rawValue].load(ordering: .relaxed) }
}
