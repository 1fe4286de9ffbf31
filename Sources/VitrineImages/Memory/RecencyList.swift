/// Values by key, in order of last use. Calls are O(1), except ``keys`` and ``values``.
///
/// The nodes lie in an array and are linked from the newest (`head`) to the oldest (`tail`). Free nodes have no entry.
struct RecencyList<Key: Hashable, Value> {
  private struct Node {
    var entry: (key: Key, value: Value)?
    var newer = -1
    var older = -1
  }

  private var indices: [Key: Int] = [:]
  private var nodes: [Node] = []
  private var free: [Int] = []
  private var head = -1
  private var tail = -1

  var count: Int { indices.count }
  /// The keys, in no particular order.
  var keys: [Key] { Array(indices.keys) }
  /// The values, from the oldest to the newest.
  var values: [Value] {
    var values: [Value] = []
    var index = tail
    while index >= 0, let entry = nodes[index].entry {
      values.append(entry.value)
      index = nodes[index].newer
    }
    return values
  }
  var oldest: (key: Key, value: Value)? { tail < 0 ? nil : nodes[tail].entry }

  /// Returns the value of a key. Does not count as a use.
  func value(_ key: Key) -> Value? { indices[key].flatMap { nodes[$0].entry?.value } }

  /// Replaces the value of a key, which must be present. Does not count as a use.
  mutating func replace(_ value: Value, _ key: Key) {
    guard let index = indices[key] else { preconditionFailure() }
    nodes[index].entry = (key, value)
  }

  mutating func use(_ key: Key) -> Value? {
    guard let index = indices[key] else { return nil }
    unlink(index)
    linkAsNewest(index)
    return nodes[index].entry?.value
  }

  /// Inserts a value as the newest. Returns the value that it replaces.
  @discardableResult
  mutating func insert(_ value: Value, _ key: Key) -> Value? {
    let old = remove(key)
    linkAsNewest(node(value, key))
    return old
  }

  /// Inserts a value as the oldest. The key must not be present.
  mutating func insertAsOldest(_ value: Value, _ key: Key) {
    precondition(indices[key] == nil)
    let index = node(value, key)
    nodes[index].newer = tail
    nodes[index].older = -1
    if tail >= 0 { nodes[tail].older = index }
    tail = index
    if head < 0 { head = index }
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    guard let index = indices.removeValue(forKey: key) else { return nil }
    unlink(index)
    let value = nodes[index].entry?.value
    nodes[index] = Node()
    free.append(index)
    return value
  }

  @discardableResult
  mutating func removeOldest() -> (key: Key, value: Value)? {
    let oldest = oldest
    if let oldest { remove(oldest.key) }
    return oldest
  }

  private mutating func node(_ value: Value, _ key: Key) -> Int {
    let index = free.popLast() ?? nodes.count
    let node = Node(entry: (key, value))
    if index == nodes.count { nodes.append(node) } else { nodes[index] = node }
    indices[key] = index
    return index
  }

  private mutating func linkAsNewest(_ index: Int) {
    nodes[index].newer = -1
    nodes[index].older = head
    if head >= 0 { nodes[head].newer = index }
    head = index
    if tail < 0 { tail = index }
  }

  private mutating func unlink(_ index: Int) {
    let (newer, older) = (nodes[index].newer, nodes[index].older)
    if newer >= 0 { nodes[newer].older = older } else { head = older }
    if older >= 0 { nodes[older].newer = newer } else { tail = newer }
  }
}
