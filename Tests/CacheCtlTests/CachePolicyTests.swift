import Testing
import VitrineSimulation

@testable import CacheCtlTool

/// The simulated policies beside slow ones that follow their definitions word for word.
@Suite struct CachePolicyTests {
  /// A cache as a list of objects.
  private protocol Model {
    init(_ byteCapacity: Int)
    mutating func request(_ request: TraceRequest) -> Bool
  }

  private struct Item {
    let object: UInt64
    let byteCount: Int
    var useCount = 0
  }

  /// FIFO, or LRU if hits move an object; the victim is the first of the list.
  private struct ListModel: Model {
    let byteCapacity: Int
    var movesHits = false
    var items: [Item] = []

    init(_ byteCapacity: Int) { self.byteCapacity = byteCapacity }

    mutating func request(_ request: TraceRequest) -> Bool {
      if let index = items.firstIndex(where: { $0.object == request.object }) {
        let item = items[index]
        if item.byteCount == request.byteCount {
          if movesHits { items.append(items.remove(at: index)) }
          return true
        }
        items.remove(at: index)
      }
      if request.byteCount > byteCapacity { return false }
      while items.reduce(0, { $0 + $1.byteCount }) + request.byteCount > byteCapacity { items.removeFirst() }
      items.append(Item(object: request.object, byteCount: request.byteCount))
      return false
    }
  }

  /// SIEVE with the hand as an index; the oldest item is the first.
  private struct SieveModel: Model {
    let byteCapacity: Int
    var items: [Item] = []
    var hand = 0

    init(_ byteCapacity: Int) { self.byteCapacity = byteCapacity }

    mutating func remove(_ index: Int) {
      items.remove(at: index)
      if index < hand { hand -= 1 }
    }

    mutating func request(_ request: TraceRequest) -> Bool {
      if let index = items.firstIndex(where: { $0.object == request.object }) {
        if items[index].byteCount == request.byteCount {
          items[index].useCount = 1
          return true
        }
        remove(index)
        if hand == items.count { hand = 0 }
      }
      if request.byteCount > byteCapacity { return false }
      while items.reduce(0, { $0 + $1.byteCount }) + request.byteCount > byteCapacity {
        while items[hand].useCount > 0 {
          items[hand].useCount = 0
          hand = (hand + 1) % items.count
        }
        items.remove(at: hand)
        if hand == items.count { hand = 0 }
      }
      // A hand that has passed all items begins again at the oldest one, not at the new one.
      items.append(Item(object: request.object, byteCount: request.byteCount))
      return false
    }
  }

  /// S3-FIFO with three lists; the oldest item is the first.
  private struct S3Model: Model {
    let byteCapacity: Int
    var small: [Item] = []
    var main: [Item] = []
    var ghost: [Item] = []

    init(_ byteCapacity: Int) { self.byteCapacity = byteCapacity }

    static func bytes(_ items: [Item]) -> Int { items.reduce(0) { $0 + $1.byteCount } }

    mutating func request(_ request: TraceRequest) -> Bool {
      for list in [\S3Model.small, \.main] {
        guard let index = self[keyPath: list].firstIndex(where: { $0.object == request.object }) else { continue }
        if self[keyPath: list][index].byteCount == request.byteCount {
          self[keyPath: list][index].useCount = min(3, self[keyPath: list][index].useCount + 1)
          return true
        }
        self[keyPath: list].remove(at: index)
      }
      if request.byteCount > byteCapacity { return false }
      while Self.bytes(small) + Self.bytes(main) + request.byteCount > byteCapacity {
        if Self.bytes(small) > byteCapacity / 10 || main.isEmpty {
          var item = small.removeFirst()
          let isWanted = item.useCount > 1
          item.useCount = 0
          if isWanted { main.append(item) } else { ghost.append(item) }
          while Self.bytes(ghost) > byteCapacity - byteCapacity / 10 { ghost.removeFirst() }
        } else {
          var item = main.removeFirst()
          if item.useCount > 0 {
            item.useCount -= 1
            main.append(item)
          }
        }
      }
      let item = Item(object: request.object, byteCount: request.byteCount)
      if let index = ghost.firstIndex(where: { $0.object == request.object }) {
        ghost.remove(at: index)
        main.append(item)
      } else {
        small.append(item)
      }
      return false
    }
  }

  private func compare(_ policy: any CacheSimulation.Type, _ model: (Int) -> any Model) {
    for seed in 1...12 as ClosedRange<UInt64> {
      var generator = SplitMix64(seed: seed)
      let capacity = [1, 900, 6000, 20_000][Int(seed) % 4]
      let cache = policy.init(byteCapacity: capacity)
      var model = model(capacity)
      for (index, request) in TraceSamples.skewed(3000, objects: 60, seed: seed, largest: 1200).enumerated() {
        // Now and then an object has another size than before.
        let grown = generator.next(below: 40) == 0 ? 1 : 0
        let request = TraceRequest(object: request.object, byteCount: request.byteCount + grown)
        let outcome = (cache.request(request), model.request(request))
        #expect(outcome.0 == outcome.1, "\(policy.name), seed \(seed), request \(index)")
        if outcome.0 != outcome.1 { return }
      }
    }
  }

  @Test func fifoMatchesItsDefinition() { compare(FIFO.self) { ListModel($0) } }

  @Test func lruMatchesItsDefinition() {
    compare(LRU.self) {
      var model = ListModel($0)
      model.movesHits = true
      return model
    }
  }

  @Test func sieveMatchesItsDefinition() { compare(SIEVE.self) { SieveModel($0) } }
  @Test func s3FIFOMatchesItsDefinition() { compare(S3FIFO.self) { S3Model($0) } }

  /// Requests by hand: objects of 10 bytes, and room for three.
  @Test func handMadeRequestsHitAsEachPolicySays() {
    let objects: [UInt64] = [1, 2, 3, 1, 4, 1, 2, 5, 1, 3]
    let hits: [(any CacheSimulation.Type, [Int])] = [
      // 4 evicts 1; 1 evicts 2; 2 evicts 3; 5 evicts 4; 3 evicts 1.
      (FIFO.self, [3, 8]),
      // 4 evicts 2; 2 evicts 3; 5 evicts 4.
      (LRU.self, [3, 5, 8]),
      // The hand passes 1 and evicts 2; 2 evicts 3, 5 evicts 4, 3 evicts 2.
      (SIEVE.self, [3, 5, 8]),
    ]
    for (policy, expected) in hits {
      let cache = policy.init(byteCapacity: 30)
      let found = objects.indices.filter { cache.request(TraceRequest(object: objects[$0], byteCount: 10)) }
      #expect(found == expected, "\(policy.name)")
    }
  }

  /// An object that came back soon after it left is kept when others pass through once.
  @Test func s3FIFOKeepsAnObjectThatCameBackFromTheGhostQueue() {
    let cache = S3FIFO(byteCapacity: 100)
    func request(_ object: UInt64) -> Bool { cache.request(TraceRequest(object: object, byteCount: 10)) }
    for object in 1...11 as ClosedRange<UInt64> { #expect(!request(object)) }
    // 1 was evicted by 11, and its id is known.
    #expect(!request(1))
    for object in 100..<200 as Range<UInt64> { #expect(!request(object)) }
    #expect(request(1))
  }

  @Test func objectLargerThanTheCapacityEvictsNothing() {
    for policy in CacheSimulations.all {
      let cache = policy.init(byteCapacity: 100)
      #expect(!cache.request(TraceRequest(object: 1, byteCount: 100)))
      #expect(!cache.request(TraceRequest(object: 2, byteCount: 101)))
      #expect(cache.request(TraceRequest(object: 1, byteCount: 100)), "\(policy.name)")
    }
  }
}
