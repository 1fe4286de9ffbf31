/// The cache of the policies that have one queue.
struct InsertionOrder {
  var objects = ObjectQueues(queueCount: 1)
  private let byteCapacity: Int

  init(byteCapacity: Int) { self.byteCapacity = byteCapacity }

  /// Returns the place of the object. Removes an object of another size, and returns nil then.
  mutating func find(_ request: TraceRequest) -> Int? {
    guard let place = objects.place(of: request.object) else { return nil }
    if objects.byteCount(of: place) == request.byteCount { return place }
    objects.remove(place)
    return nil
  }

  /// Adds a missing object as the newest, after it has removed victims until there is room.
  mutating func insert(_ request: TraceRequest, victim: (inout ObjectQueues) -> Int?) {
    if request.byteCount > byteCapacity { return }
    while objects.byteCount(ofQueue: 0) > byteCapacity - request.byteCount, let place = victim(&objects) {
      objects.remove(place)
    }
    objects.insert(request, into: 0)
  }
}
