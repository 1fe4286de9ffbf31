/// A cache of whole objects. Each object counts by its size, without any overhead. Only cached objects and ghost ids
/// take memory.
///
/// An object larger than the capacity is a miss and is not inserted. An object requested with another size than the
/// cached one is a miss and replaces it.
protocol CacheSimulation: AnyObject, SendableMetatype {
  static var name: String { get }
  init(byteCapacity: Int)
  /// Requests an object, and inserts it if it is missing. Returns whether it was there.
  func request(_ request: TraceRequest) -> Bool
}

enum CacheSimulations {
  static let all: [any CacheSimulation.Type] = [LRU.self, FIFO.self, SIEVE.self, S3FIFO.self]
}
