/// Evicts the object whose last request is oldest.
final class LRU: CacheSimulation {
  static let name = "LRU"
  private var order: InsertionOrder

  init(byteCapacity: Int) { order = InsertionOrder(byteCapacity: byteCapacity) }

  func request(_ request: TraceRequest) -> Bool {
    if let place = order.find(request) {
      order.objects.move(place, to: 0)
      return true
    }
    order.insert(request) { $0.oldest(in: 0) }
    return false
  }
}
