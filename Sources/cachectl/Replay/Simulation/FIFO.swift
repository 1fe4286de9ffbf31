/// Evicts the object that was inserted first.
final class FIFO: CacheSimulation {
  static let name = "FIFO"
  private var order: InsertionOrder

  init(byteCapacity: Int) { order = InsertionOrder(byteCapacity: byteCapacity) }

  func request(_ request: TraceRequest) -> Bool {
    if order.find(request) != nil { return true }
    order.insert(request) { $0.oldest(in: 0) }
    return false
  }
}
