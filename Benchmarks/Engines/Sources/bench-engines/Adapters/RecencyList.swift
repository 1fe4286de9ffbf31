/// An engine's session with a list of recent uses in memory, which removes the least recently used values when they
/// exceed a budget. Engines without eviction need it in the workload `churn`.
final class RecencyList {
  private struct Node {
    var byteCount = 0
    var newer = -1
    var older = -1
  }

  private let session: any EngineSession
  private let keys: KeyBuffer
  private let byteBudget: Int
  /// Indexed by the number of a key; a node of zero bytes is not on the list.
  private var nodes: [Node]
  private var newest = -1
  private var oldest = -1
  private(set) var byteCount = 0
  private(set) var evictedCount = 0

  /// `keyCount` is the number of different keys.
  init(_ session: any EngineSession, keyCount: Int, byteBudget: Int) {
    self.session = session
    self.byteBudget = byteBudget
    keys = KeyBuffer()
    nodes = Array(repeating: Node(), count: keyCount)
  }

  /// Notes a use of a stored value.
  func use(_ index: Int) {
    guard nodes[index].byteCount > 0, newest != index else { return }
    unlink(index)
    linkAsNewest(index)
  }

  /// Notes a put, after it, and evicts.
  func put(_ index: Int, byteCount count: Int) throws {
    if nodes[index].byteCount > 0 {
      unlink(index)
      byteCount -= nodes[index].byteCount
    }
    nodes[index].byteCount = count
    byteCount += count
    linkAsNewest(index)
    while byteCount > byteBudget, oldest >= 0 {
      let victim = oldest
      unlink(victim)
      byteCount -= nodes[victim].byteCount
      nodes[victim].byteCount = 0
      evictedCount += 1
      try session.remove(keys.key(victim))
    }
  }

  private func linkAsNewest(_ index: Int) {
    nodes[index].older = newest
    nodes[index].newer = -1
    if newest >= 0 { nodes[newest].newer = index } else { oldest = index }
    newest = index
  }

  private func unlink(_ index: Int) {
    let node = nodes[index]
    if node.newer >= 0 { nodes[node.newer].older = node.older } else { newest = node.older }
    if node.older >= 0 { nodes[node.older].newer = node.newer } else { oldest = node.newer }
  }
}
