/// Readings of the recency clock, which date an entry's last use by its stamp. Does no I/O; callers pass the time.
///
/// A reading whose neighbors are less than one second apart is dropped. At most 512 readings are kept. One more drops
/// the reading whose neighbors are closest together in relation to its age. So the date of a recent use is accurate to
/// 1 s, that of an older one to a few percent of its age. Guarded by its owner (``SharedUseTimes``).
package struct UseTimes: Sendable, Equatable {
  package struct Reading: Sendable, Equatable {
    package var stamp: UInt32
    /// Milliseconds since 1970.
    package var time: Int64

    package init(stamp: UInt32, time: Int64) {
      self.stamp = stamp
      self.time = time
    }
  }

  package static let most = CacheFormat.mostUseTimes
  package static let interval: Int64 = 1000
  /// In the order in which they were taken.
  package private(set) var readings: [Reading] = []

  package init(_ readings: [Reading] = []) { self.readings = readings }

  /// Notes the clock's stamp at `time`.
  package mutating func note(stamp: UInt32, time: Int64) {
    // Readings from before the clock was set back would mislead.
    if let last = readings.last, last.time > time { readings.removeAll { $0.time > time } }
    if readings.last?.stamp == stamp { return }
    if readings.count > 1, time - readings[readings.count - 2].time < UseTimes.interval { readings.removeLast() }
    readings.append(Reading(stamp: stamp, time: time))
    if readings.count > UseTimes.most { thin() }
  }

  private mutating func thin() {
    guard let newest = readings.last else { return }
    var least = Double.infinity
    var index = 1
    for candidate in 1..<readings.count - 1 {
      let gap = readings[candidate + 1].time - readings[candidate - 1].time
      let age = newest.time - readings[candidate].time + UseTimes.interval
      let share = Double(gap) / Double(age)
      if share < least {
        least = share
        index = candidate
      }
    }
    readings.remove(at: index)
  }

  /// Replaces the stamps of the readings.
  mutating func lift(_ lifted: (UInt32) -> UInt32) {
    for index in readings.indices { readings[index].stamp = lifted(readings[index].stamp) }
  }

  /// Returns a moment by which the use with `stamp` had happened; nil if no reading tells. O(log readings).
  package func time(of stamp: UInt32, at now: UInt32) -> Int64? {
    let index = UseTimes.index(of: stamp, at: now, count: readings.count) { readings[$0].stamp }
    return index < readings.count ? readings[index].time : nil
  }

  /// Returns the index of the first of `count` readings that was taken after `stamp` was given; `count` if there is
  /// none.
  @inline(__always)
  static func index(of stamp: UInt32, at now: UInt32, count: Int, _ reading: (Int) -> UInt32) -> Int {
    let age = RecencyClock.age(of: stamp, at: now)
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if RecencyClock.age(of: reading(middle), at: now) > age { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
