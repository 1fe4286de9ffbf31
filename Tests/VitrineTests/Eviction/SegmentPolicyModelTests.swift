import Testing

@testable import Vitrine

/// The policies that reclaim space by segments, beside a model that makes the same decisions by brute force.
@Suite struct SegmentPolicyModelTests {
  private static let policies: [EvictionPolicy] = [.s3fifo, .sieve]

  private static func key(_ name: String, _ number: Int) -> CacheKey { CacheKey("\(name)\(number)", .original) }

  // MARK: Random runs

  /// A third of the runs have a budget of entries, and a third have no segments for keys that return.
  private static func run(
    _ policy: EvictionPolicy, _ seed: UInt64, numbers: SegmentPolicyNumbers? = nil
  ) throws -> SegmentPolicyModel.Counts {
    var random = SeededRandom(seed: seed)
    let run = try SegmentPolicyRun(
      policy, byteBudget: seed % 3 == 0 ? 1280 << 10 : seed % 3 == 1 ? 1408 << 10 : 2 << 20,
      entryBudget: seed % 3 == 1 ? 150 : nil, seed: seed, numbers: numbers,
      comment: RandomRuns.repeating(seed, "SegmentPolicyModelTests"))
    for _ in 0..<1500 {
      // Popular keys have low numbers.
      let key = key("k", random.below(1 + random.below(1000)))
      switch random.below(1000) {
      case 0..<150: try run.put(key, byteCount(&random))
      case 150..<780: if try !run.get(key) { try run.put(key, byteCount(&random)) }
      case 780..<830: try run.put(key, 4000, BitmapLayout(width: 100, height: 10, format: .rgba8888))
      case 830..<850: try run.remove(key)
      case 850..<900: try run.change(key, isPinned: random.below(3) > 0)
      case 900..<940: try run.change(key, isPinned: nil)
      case 940..<980: try run.put(key, sharing: Self.key("k", random.below(600)))
      default: try run.makeRoom(random.below(256 << 10))
      }
    }
    try run.close()
    return run.model.counts
  }

  /// Many small values, few large ones, and now and then one that is larger than a segment.
  private static func byteCount(_ random: inout SeededRandom) -> Int {
    switch random.below(100) {
    case 0..<50: 1 + random.below(2000)
    case 50..<88: 2000 + random.below(13_000)
    case 88..<98: 15_000 + random.below(45_000)
    default: 70_000 + random.below(100_000)
    }
  }

  @Test(arguments: policies, RandomRuns.seeds([2, 4, 5, 6, 7, 9]))
  func theSameEntriesAreLeftInTheSameQueues(_ policy: EvictionPolicy, _ seed: UInt64) throws {
    let counts = try Self.run(policy, seed)
    #expect(counts.unserved == 0)
    #expect(counts.queuedAgain > 0 && counts.copied > 0 && counts.dropped > 0 && counts.sparse > 0)
    if policy == .s3fifo, seed % 3 == 2 { #expect(counts.returned > 0) }
  }

  /// A number of the policies, and a value that the model takes for it.
  enum Change: CaseIterable {
    case probationShare, queuedShareOfProbation, queuedShareOfMain, copiedMultiple, costOfMain, copiedShare
    case returnedKeys, sparseShare, mostQueuedAgain

    func applied(to numbers: SegmentPolicyNumbers) -> SegmentPolicyNumbers {
      var numbers = numbers
      switch self {
      case .probationShare: numbers.probationShare = 0.2
      case .queuedShareOfProbation: numbers.queuedShare.probation = 0.5
      case .queuedShareOfMain: numbers.queuedShare.main = 0.7
      case .copiedMultiple: numbers.copiedMultiple = 1
      case .costOfMain: numbers.costOfMain = 0
      case .copiedShare: numbers.copiedShare = 0.2
      case .returnedKeys: numbers.knowsReturnedKeys = false
      case .sparseShare: numbers.sparseShare.usual = 0.4
      case .mostQueuedAgain: numbers.mostQueuedAgain = 1
      }
      return numbers
    }
  }

  /// The runs test a number of the policies only if a model with another number disagrees with the store.
  @Test(arguments: Change.allCases)
  func aModelWithAnotherNumberDisagrees(_ change: Change) throws {
    let numbers = change.applied(to: SegmentPolicyNumbers(.s3fifo))
    let seeds: [UInt64] = [2, 5, 6, 1, 4]
    let finder = try seeds.first { seed in
      do {
        _ = try Self.run(.s3fifo, seed, numbers: numbers)
        return false
      } catch is SegmentPolicyRun.Disagreement {
        return true
      }
    }
    #expect(finder != nil)
  }

  // MARK: Directed runs

  @Test(arguments: policies)
  func aScanPassesAHotSet(_ policy: EvictionPolicy) throws {
    let run = try SegmentPolicyRun(policy)
    for number in 0..<40 { try run.put(Self.key("hot", number), 8000) }
    for number in 0..<500 {
      try run.put(Self.key("scan", number), 8000)
      if number % 3 == 0 { try run.get(Self.key("hot", number / 3 % 40)) }
    }
    #expect(run.model.counts.dropped > 200)
    #expect((0..<40).count { run.store.contains(Self.key("hot", $0)) } >= 35)
    try run.close()
  }

  @Test(arguments: policies)
  func aLoopOverMoreThanFits(_ policy: EvictionPolicy) throws {
    let run = try SegmentPolicyRun(policy)
    for _ in 0..<5 {
      for number in 0..<220 {
        if try !run.get(Self.key("k", number)) { try run.put(Self.key("k", number), 8000) }
      }
    }
    #expect(run.model.counts.dropped > 100)
    #expect(policy == .sieve || run.model.counts.returned > 0)
    try run.close()
  }

  /// A few values of almost a segment, a few that are larger than a segment, and many small ones.
  @Test(arguments: policies)
  func largeValuesAreWeighedAgainstSmallOnes(_ policy: EvictionPolicy) throws {
    let run = try SegmentPolicyRun(policy)
    for number in 0..<2500 {
      try run.put(Self.key("small", number), 700)
      if number % 2 == 0 { try run.get(Self.key("small", number / 2)) }
      if number % 250 == 0 { try run.put(Self.key("large", number), number % 500 == 0 ? 60_000 : 150_000) }
      if number % 40 == 0 { try run.get(Self.key("large", number / 250 * 250)) }
    }
    #expect(run.model.counts.dropped > 500)
    #expect(run.model.counts.copied + run.model.counts.queuedAgain > 0)
    try run.close()
  }

  /// A quarter of the budget is pinned, in records of many sizes. Nothing more can be pinned.
  @Test(arguments: policies)
  func pinnedEntriesUpToTheirLimitStay(_ policy: EvictionPolicy) throws {
    let run = try SegmentPolicyRun(policy)
    var random = SeededRandom(seed: 7)
    for number in 0..<120 {
      try run.put(Self.key("k", number), 200 + random.below(15_000))
      try run.change(Self.key("k", number), isPinned: true)
    }
    let pinned = run.model.entries.filter { $0.value.isPinned }.map(\.key)
    #expect(pinned.count > 30 && pinned.count < 120)
    for number in 0..<500 { try run.put(Self.key("scan", number), 1 + random.below(15_000)) }
    #expect(run.model.counts.dropped > 200)
    #expect(pinned.allSatisfy { run.store.contains($0) })
    try run.close()
  }

  @Test(arguments: policies, [0, 1, 3])
  func recordsOfOpenSegmentsOnly(_ policy: EvictionPolicy, _ uses: Int) throws {
    let run = try SegmentPolicyRun(policy)
    for number in 0..<6 { try run.put(Self.key("k", number), 8000) }
    for number in 0..<3 { for _ in 0..<uses { try run.get(Self.key("k", number)) } }
    try run.makeRoom(1 - run.store.probe.missing(0))
    #expect(run.model.counts.dropped + run.model.counts.queuedAgain > 0)
    for number in 10..<16 { try run.put(Self.key("k", number), 8000) }
    try run.close()
  }
}
