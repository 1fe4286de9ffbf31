/// Requests by their distances in bytes and in keys, each counted with its weight.
struct RequestWeights {
  private var byBytes = DistanceHistogram()
  private var byKeys = DistanceHistogram()
  private(set) var total = 0.0
  /// The weight of requests without a distance.
  private(set) var unknown = 0.0

  mutating func add(_ weight: Double, at distance: (bytes: Double, keys: Double)) {
    total += weight
    byBytes.add(weight, at: distance.bytes)
    byKeys.add(weight, at: distance.keys)
  }

  mutating func addUnknown(_ weight: Double) {
    total += weight
    unknown += weight
  }

  /// The weight of the requests that a cache with this room has. With two limits, the one that leaves less decides.
  func weight(within room: (bytes: Double, keys: Double?)) -> Double {
    let byBytes = byBytes.weight(upTo: room.bytes)
    return room.keys.map { min(byBytes, byKeys.weight(upTo: $0)) } ?? byBytes
  }
}

/// Weights by distance, in eight classes for each power of two.
struct DistanceHistogram {
  private static let largest = UInt64(1) << 50
  private var weights = [Double](repeating: 0, count: DistanceHistogram.bucket(of: DistanceHistogram.largest) + 1)

  private static func bucket(of distance: UInt64) -> Int {
    if distance < 8 { return Int(distance) }
    let shift = 60 - distance.leadingZeroBitCount
    return shift * 8 + Int(distance >> UInt64(shift))
  }

  private static func bounded(_ distance: Double) -> UInt64 { UInt64(min(max(distance, 0), Double(largest))) }

  mutating func add(_ weight: Double, at distance: Double) {
    weights[DistanceHistogram.bucket(of: DistanceHistogram.bounded(distance))] += weight
  }

  /// The weight at distances of at most `distance`. Within a class, the weights are taken as evenly distributed.
  func weight(upTo distance: Double) -> Double {
    let distance = DistanceHistogram.bounded(distance)
    let bucket = DistanceHistogram.bucket(of: distance)
    let shift = UInt64(max(0, bucket / 8 - 1))
    let position = distance & ((1 << shift) - 1)
    let share = Double(position + 1) / Double(UInt64(1) << shift)
    return weights[..<bucket].reduce(0, +) + weights[bucket] * share
  }
}
