/// Evicts by a hand that moves from the oldest object to the newest, passes objects requested since it came by, and
/// evicts the first other one (SIEVE, NSDI 2024). A hit moves nothing.
final class SIEVE: CacheSimulation {
  static let name = "SIEVE"
  private var order: InsertionOrder
  /// The object of the next inspection; nil for the oldest.
  private var hand: Int?

  init(byteCapacity: Int) { order = InsertionOrder(byteCapacity: byteCapacity) }

  func request(_ request: TraceRequest) -> Bool {
    // An object that is about to be replaced must not stay under the hand.
    if let place = order.objects.place(of: request.object), place == hand,
      order.objects.byteCount(of: place) != request.byteCount
    {
      hand = order.objects.newer(than: place)
    }
    if let place = order.find(request) {
      order.objects[useCount: place] = 1
      return true
    }
    order.insert(request) { objects in victim(&objects) }
    return false
  }

  private func victim(_ objects: inout ObjectQueues) -> Int? {
    while let place = hand ?? objects.oldest(in: 0) {
      hand = objects.newer(than: place)
      if objects[useCount: place] == 0 { return place }
      objects[useCount: place] = 0
    }
    return nil
  }
}
