/// Sums of bytes and of keys over places, by binary indexed trees (Fenwick, 1994). Each operation takes O(log places).
struct PlaceSums {
  private var byteCounts: [Int]
  private var keyCounts: [Int32]
  private var all = (byteCount: 0, keyCount: 0)

  init(placeCount: Int) {
    byteCounts = Array(repeating: 0, count: placeCount)
    keyCounts = Array(repeating: 0, count: placeCount)
  }

  var memoryByteCount: Int { byteCounts.count * (MemoryLayout<Int>.stride + MemoryLayout<Int32>.stride) }

  mutating func add(_ byteCount: UInt32, _ keyCount: Int, at place: Int) { change(Int(byteCount), keyCount, place) }

  mutating func take(_ byteCount: UInt32, _ keyCount: Int, at place: Int) { change(-Int(byteCount), -keyCount, place) }

  private mutating func change(_ byteCount: Int, _ keyCount: Int, _ place: Int) {
    all.byteCount += byteCount
    all.keyCount += keyCount
    var node = place + 1
    while node <= byteCounts.count {
      byteCounts[node - 1] += byteCount
      keyCounts[node - 1] += Int32(keyCount)
      node += node & -node
    }
  }

  /// The sums of all places behind this one.
  func total(after place: Int) -> (byteCount: Int, keyCount: Int) {
    var sum = all
    var node = place + 1
    while node > 0 {
      sum.byteCount -= byteCounts[node - 1]
      sum.keyCount -= Int(keyCounts[node - 1])
      node -= node & -node
    }
    return sum
  }
}
