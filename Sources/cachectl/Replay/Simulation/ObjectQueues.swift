/// Objects in queues, each in at most one. The oldest object of a queue is the one that came into it first.
///
/// A place is the number of an object's node. It is valid until the object is removed.
struct ObjectQueues {
  private struct Node {
    var object: UInt64
    var byteCount: Int
    var queue: Int
    var older: Int
    var newer: Int
    var useCount: UInt8
  }

  private struct Queue {
    var oldest = none
    var newest = none
    var byteCount = 0
  }

  private static let none = -1
  private var nodes: [Node] = []
  private var freePlaces: [Int] = []
  private var places: [UInt64: Int] = [:]
  private var queues: [Queue]

  init(queueCount: Int) { queues = Array(repeating: Queue(), count: queueCount) }

  func place(of object: UInt64) -> Int? { places[object] }
  func queue(of place: Int) -> Int { nodes[place].queue }
  func byteCount(of place: Int) -> Int { nodes[place].byteCount }
  func byteCount(ofQueue queue: Int) -> Int { queues[queue].byteCount }
  func oldest(in queue: Int) -> Int? { Self.optional(queues[queue].oldest) }
  func newer(than place: Int) -> Int? { Self.optional(nodes[place].newer) }

  /// A number for the policy's use; 0 for a new object.
  subscript(useCount place: Int) -> UInt8 {
    get { nodes[place].useCount }
    set { nodes[place].useCount = newValue }
  }

  /// Adds an object, which must not be in any queue, as the newest of a queue.
  mutating func insert(_ request: TraceRequest, into queue: Int) {
    let node = Node(
      object: request.object, byteCount: request.byteCount, queue: queue, older: Self.none, newer: Self.none,
      useCount: 0)
    let place: Int
    if let free = freePlaces.popLast() {
      place = free
      nodes[place] = node
    } else {
      place = nodes.count
      nodes.append(node)
    }
    places[request.object] = place
    link(place, to: queue)
  }

  /// Makes an object the newest of a queue, which may be its own.
  mutating func move(_ place: Int, to queue: Int) {
    unlink(place)
    link(place, to: queue)
  }

  mutating func remove(_ place: Int) {
    unlink(place)
    places[nodes[place].object] = nil
    freePlaces.append(place)
  }

  private mutating func link(_ place: Int, to queue: Int) {
    let newest = queues[queue].newest
    nodes[place].queue = queue
    nodes[place].older = newest
    nodes[place].newer = Self.none
    if newest == Self.none { queues[queue].oldest = place } else { nodes[newest].newer = place }
    queues[queue].newest = place
    queues[queue].byteCount += nodes[place].byteCount
  }

  private mutating func unlink(_ place: Int) {
    let node = nodes[place]
    if node.older == Self.none { queues[node.queue].oldest = node.newer } else { nodes[node.older].newer = node.newer }
    if node.newer == Self.none { queues[node.queue].newest = node.older } else { nodes[node.newer].older = node.older }
    queues[node.queue].byteCount -= node.byteCount
  }

  private static func optional(_ place: Int) -> Int? { place == none ? nil : place }
}
