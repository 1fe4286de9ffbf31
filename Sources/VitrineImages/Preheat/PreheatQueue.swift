/// The waiting and running requests of preheating, and the time of the next start. Times are nanoseconds of a
/// monotonic clock.
///
/// Calls are O(1) for each request, except ``waitingRequests``.
struct PreheatQueue {
  typealias Wish = Preheater.Wish

  private struct Entry {
    let request: PictureRequest
    var destination: PreheatDestination
    /// The earliest start.
    let time: UInt64
  }

  private struct Running {
    let number: Int
    var destination: PreheatDestination
    var task: Task<Void, Never>?
    /// If the request was stopped, the number of the call that stopped it.
    var stop: Int?
  }

  /// A running request.
  struct Run {
    let number: Int
    let request: PictureRequest
    let destination: PreheatDestination
    var wish: Wish { Wish(request) }
  }

  let limit: Int
  /// The limit of waiting requests. Each takes some hundred bytes, so all take a few megabytes. No list shows as many
  /// items.
  static let mostWaiting = 10_000

  /// Waiting requests in order of arrival.
  private var waiting = RecencyList<Wish, Entry>()
  private var running: [Wish: Running] = [:]
  private var lastNumber = 0

  init(limit: Int) { self.limit = max(1, limit) }

  var runningCount: Int { running.count }
  /// The waiting requests in order.
  var waitingRequests: [PictureRequest] { waiting.values.map(\.request) }

  // MARK: Wishes

  /// Adds requests. A call adds at most ``mostWaiting`` new requests: the first ones, which the caller wants most. If
  /// more requests wait after several calls, the oldest ones are dropped, since an app that scrolls has passed them.
  mutating func add(_ requests: [PictureRequest], _ destination: PreheatDestination, notBefore time: UInt64) {
    var addedCount = 0
    for var request in requests {
      let wish = Wish(request)
      if let run = running[wish] {
        running[wish]?.stop = nil
        running[wish]?.destination = run.destination.joined(destination)
      } else if var entry = waiting.value(wish) {
        entry.destination = entry.destination.joined(destination)
        waiting.replace(entry, wish)
      } else if addedCount < PreheatQueue.mostWaiting {
        request.priority = .preheating
        waiting.insert(Entry(request: request, destination: destination, time: time), wish)
        addedCount += 1
      }
    }
    while waiting.count > PreheatQueue.mostWaiting { waiting.removeOldest() }
  }

  mutating func forget(_ wish: Wish) { waiting.remove(wish) }

  /// Marks the running requests among these as stopped. Returns the number of this stop, or nil if none runs.
  mutating func giveUp(_ wishes: some Sequence<Wish>) -> Int? {
    var stop: Int?
    for wish in wishes {
      forget(wish)
      guard running[wish] != nil else { continue }
      if stop == nil { stop = nextNumber() }
      running[wish]?.stop = stop
    }
    return stop
  }

  /// Removes the requests that this stop marked and that are still stopped. Returns their tasks, for cancellation.
  mutating func end(givenUpBy stop: Int) -> [Task<Void, Never>] {
    running.filter { $0.value.stop == stop }.keys.compactMap { running.removeValue(forKey: $0)?.task }
  }

  /// Removes all requests. Returns the tasks of the running ones, for cancellation.
  mutating func removeAll() -> [Task<Void, Never>] {
    defer { (waiting, running) = (RecencyList(), [:]) }
    return running.values.compactMap(\.task)
  }

  // MARK: Running

  /// The earliest start of the next request, or nil if none waits or the limit is reached.
  var nextTime: UInt64? { running.count < limit ? waiting.oldest?.value.time : nil }

  /// Moves the next request from waiting to running, and returns it.
  mutating func begin(at now: UInt64) -> Run? {
    guard let time = nextTime, time <= now, let (wish, entry) = waiting.removeOldest() else { return nil }
    let number = nextNumber()
    running[wish] = Running(number: number, destination: entry.destination)
    return Run(number: number, request: entry.request, destination: entry.destination)
  }

  /// Sets the task of a run. Returns false if the run has been stopped or has ended.
  mutating func note(_ task: Task<Void, Never>, of run: Run) -> Bool {
    guard running[run.wish]?.number == run.number else { return false }
    running[run.wish]?.task = task
    return true
  }

  /// Ends a run that loaded into `destination`. Returns another destination if the request needs one now, or nil if it
  /// is done.
  mutating func end(_ run: Run, at destination: PreheatDestination) -> PreheatDestination? {
    // Another run of the same request may have begun after a stop.
    guard let now = running[run.wish], now.number == run.number else { return nil }
    if now.destination != destination { return now.destination }
    running[run.wish] = nil
    return nil
  }

  private mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }
}
