/// The curve as `COUNTERS` keeps it.
struct MissCurveRecord: Sendable, Equatable {
  /// The budgets of the points in eighths of the present one.
  static let eighths = [1, 2, 4, 8, 16, 32, 64]
  static let pointCount = 7
  /// With fewer followed keys, the estimate is too inaccurate.
  static let leastKeys = 32

  /// 0 if there is no curve.
  var requestCount = 0
  var missCount = 0
  var byteBudget = 0
  /// Bytes of values at the present budget.
  var valueByteCount = 0
  var missesPerMillion = [Int](repeating: 0, count: pointCount)

  init() {}

  /// The store at the time of an estimate.
  struct Content {
    var byteBudget: Int
    /// 0 for no limit.
    var entryBudget: Int
    var logicalByteCount: Int
    var bytesOnDisk: Int

    /// Estimated bytes of values once this store fills its budget.
    var valueByteCount: Int {
      guard logicalByteCount > 0, bytesOnDisk > 0 else { return byteBudget }
      let share = Double(logicalByteCount) / Double(bytesOnDisk)
      return Int(min(Double(byteBudget) * share, Double(Counters.most)))
    }
  }

  /// Returns nil if the sample has seen too little.
  init?(_ sample: MissSample, lookups: (hits: Int, misses: Int), _ content: Content) {
    guard sample.knownRequestCount >= Double(MissCurve.leastRequestCount),
      sample.followedCount >= MissCurveRecord.leastKeys
    else { return nil }
    requestCount = lookups.hits &+ lookups.misses
    missCount = lookups.misses
    byteBudget = content.byteBudget
    valueByteCount = content.valueByteCount
    for (index, eighths) in MissCurveRecord.eighths.enumerated() {
      let ratio = sample.missRatio(
        byteCapacity: MissCurveRecord.scaled(valueByteCount, eighths),
        keyCapacity: content.entryBudget == 0 ? nil : max(1, MissCurveRecord.scaled(content.entryBudget, eighths)),
        lookups: lookups, isAtLeastPresent: eighths >= 8)
      missesPerMillion[index] = Int((ratio * 1_000_000).rounded())
    }
  }

  private static func scaled(_ count: Int, _ eighths: Int) -> Int { Int(Double(count) / 8 * Double(eighths)) }

  /// Nil if there is no curve, or an impossible one.
  var curve: MissCurve? {
    guard requestCount > 0, missCount <= requestCount, byteBudget > 0,
      missesPerMillion.allSatisfy({ $0 <= 1_000_000 })
    else { return nil }
    let points = zip(MissCurveRecord.eighths, missesPerMillion).map { eighths, misses in
      MissCurve.Point(
        byteBudget: MissCurveRecord.scaled(byteBudget, eighths),
        valueByteCount: MissCurveRecord.scaled(valueByteCount, eighths), missRatio: Double(misses) / 1_000_000)
    }
    return MissCurve(
      points: points, byteBudget: byteBudget, requestCount: requestCount,
      missRatio: Double(missCount) / Double(requestCount))
  }
}

extension MissCurveRecord.Content {
  init(_ state: borrowing CommitState) {
    self.init(
      byteBudget: state.current.byteBudget, entryBudget: state.current.entryBudget,
      logicalByteCount: state.index.logicalByteCount, bytesOnDisk: state.ledger.total)
  }
}

extension MissSampler {
  func curve(_ lookups: (hits: Int, misses: Int), _ content: MissCurveRecord.Content) -> MissCurveRecord? {
    withSample(byteBudget: content.byteBudget) { MissCurveRecord($0, lookups: lookups, content) }
  }
}
