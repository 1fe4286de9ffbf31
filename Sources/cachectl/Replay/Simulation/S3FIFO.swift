/// S3-FIFO (SOSP 2023). New objects come into a small queue with a tenth of the capacity. An object requested twice
/// more moves from there to the main queue; any other one leaves, and its id stays in a ghost queue. A missing object
/// whose id is there comes into the main queue. The main queue gives each object as many further rounds as it had
/// requests, up to three. All parts are counted by bytes; the ghost queue has ids for nine tenths of the capacity.
final class S3FIFO: CacheSimulation {
  static let name = "S3-FIFO"
  private static let (small, main, ghost) = (0, 1, 2)
  /// Requests in the small queue that lead to the main queue.
  private static let promotingUseCount: UInt8 = 2
  private static let largestUseCount: UInt8 = 3

  private var objects = ObjectQueues(queueCount: 3)
  private let byteCapacity: Int
  private let smallCapacity: Int
  private let ghostCapacity: Int

  init(byteCapacity: Int) {
    self.byteCapacity = byteCapacity
    smallCapacity = byteCapacity / 10
    ghostCapacity = byteCapacity - smallCapacity
  }

  func request(_ request: TraceRequest) -> Bool {
    if let place = objects.place(of: request.object), objects.queue(of: place) != Self.ghost {
      if objects.byteCount(of: place) == request.byteCount {
        objects[useCount: place] = min(objects[useCount: place] + 1, Self.largestUseCount)
        return true
      }
      objects.remove(place)
    }
    if request.byteCount > byteCapacity { return false }
    while heldByteCount > byteCapacity - request.byteCount { evict() }
    // The evictions may have pushed the id out of the ghost queue.
    if let place = objects.place(of: request.object) {
      objects.remove(place)
      objects.insert(request, into: Self.main)
    } else {
      objects.insert(request, into: Self.small)
    }
    return false
  }

  private var heldByteCount: Int { objects.byteCount(ofQueue: Self.small) + objects.byteCount(ofQueue: Self.main) }

  /// Inspects the oldest object of the queue that has more than its share.
  private func evict() {
    if objects.byteCount(ofQueue: Self.small) > smallCapacity, let place = objects.oldest(in: Self.small) {
      leaveSmall(place)
    } else if let place = objects.oldest(in: Self.main) {
      leaveMain(place)
    } else if let place = objects.oldest(in: Self.small) {
      leaveSmall(place)
    }
  }

  private func leaveSmall(_ place: Int) {
    let isPromoted = objects[useCount: place] >= Self.promotingUseCount
    objects[useCount: place] = 0
    objects.move(place, to: isPromoted ? Self.main : Self.ghost)
    while objects.byteCount(ofQueue: Self.ghost) > ghostCapacity, let oldest = objects.oldest(in: Self.ghost) {
      objects.remove(oldest)
    }
  }

  private func leaveMain(_ place: Int) {
    if objects[useCount: place] > 0 {
      objects[useCount: place] -= 1
      objects.move(place, to: Self.main)
    } else {
      objects.remove(place)
    }
  }
}
