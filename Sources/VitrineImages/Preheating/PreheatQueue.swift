/// What is to be made ready, what is being made so, and when the next of it may begin. Times are nanoseconds of a clock that
/// never goes back.
///
/// Every call is O(1) for each request that it names, but for ``waitingRequests``.
struct PreheatQueue {
  typealias Wish = Preheater.Wish

  private struct Entry {
    let request: ImageRequest
    var destination: PreheatDestination
    /// Not to begin earlier.
    let time: UInt64
  }

  private struct Running {
    let number: Int
    var destination: PreheatDestination
    var task: Task<Void, Never>?
    /// Not wanted any more: the number of the call that said so.
    var stop: Int?
  }

  /// One that has begun.
  struct Run {
    let number: Int
    let request: ImageRequest
    let destination: PreheatDestination
    var wish: Wish { Wish(request) }
  }

  let limit: Int
  /// Some hundred bytes each: more than any list has in sight, and no more than a few megabytes.
  static let mostWaiting = 10_000

  /// In the order in which they were asked for.
  private var waiting = RecencyList<Wish, Entry>()
  private var running: [Wish: Running] = [:]
  private var lastNumber = 0

  init(limit: Int) { self.limit = max(1, limit) }

  var runningCount: Int { running.count }
  /// In their order.
  var waitingRequests: [ImageRequest] { waiting.values.map(\.request) }

  // MARK: Wishes

  /// Of one call no more than ``mostWaiting`` are taken, the first, which are those that its caller wants most; of several
  /// calls the last ones stay, since what was asked for that long ago has been scrolled past.
  mutating func add(_ requests: [ImageRequest], _ destination: PreheatDestination, notBefore time: UInt64) {
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

  /// What runs of these is given up under a number, which is nil where nothing does.
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

  /// The tasks of what was given up under a number and not wanted again since, which are to be cancelled.
  mutating func end(givenUpBy stop: Int) -> [Task<Void, Never>] {
    running.filter { $0.value.stop == stop }.keys.compactMap { running.removeValue(forKey: $0)?.task }
  }

  /// The tasks of all that runs, which are to be cancelled.
  mutating func removeAll() -> [Task<Void, Never>] {
    defer { (waiting, running) = (RecencyList(), [:]) }
    return running.values.compactMap(\.task)
  }

  // MARK: Running

  /// When the next may begin; nil for none, also while as many run as may.
  var nextTime: UInt64? { running.count < limit ? waiting.oldest?.value.time : nil }

  /// The next one, taken out of those that wait.
  mutating func begin(at now: UInt64) -> Run? {
    guard let time = nextTime, time <= now, let (wish, entry) = waiting.removeOldest() else { return nil }
    let number = nextNumber()
    running[wish] = Running(number: number, destination: entry.destination)
    return Run(number: number, request: entry.request, destination: entry.destination)
  }

  /// Whether it is wanted still; else it was stopped in this moment, or is done already.
  mutating func note(_ task: Task<Void, Never>, of run: Run) -> Bool {
    guard running[run.wish]?.number == run.number else { return false }
    running[run.wish]?.task = task
    return true
  }

  /// It was made ready at `destination`; where else it is wanted by now, nil for nowhere.
  mutating func end(_ run: Run, at destination: PreheatDestination) -> PreheatDestination? {
    // Another of the same may have begun since this was stopped.
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
