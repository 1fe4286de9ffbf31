/// The outcomes of requests.
struct MissCounts: Equatable {
  private(set) var requestCount = 0
  private(set) var missCount = 0
  private(set) var requestedByteCount = 0
  private(set) var missedByteCount = 0

  mutating func add(_ byteCount: Int, isHit: Bool) {
    requestCount += 1
    requestedByteCount &+= byteCount
    if isHit { return }
    missCount += 1
    missedByteCount &+= byteCount
  }

  /// Zero before the first request.
  var missRatio: Double { requestCount == 0 ? 0 : Double(missCount) / Double(requestCount) }
  var byteMissRatio: Double {
    requestedByteCount == 0 ? 0 : Double(missedByteCount) / Double(requestedByteCount)
  }
}
