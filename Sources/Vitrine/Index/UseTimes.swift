/// When stamps were given, roughly: readings of the recency clock, so that an entry's stamp tells when it was last used.
/// Memory only; the time is told to it.
///
/// Readings lie a second apart. At most 512 are kept: beyond that the one goes whose neighbours lie closest for its age,
/// so that what is long ago is told less exactly, to a few parts in a hundred. Guarded by its owner
/// (``SharedUseTimes``).
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

  package static let most = 512
  package static let interval: Int64 = 1000
  /// In the order in which they were taken.
  package private(set) var readings: [Reading] = []

  package init(_ readings: [Reading] = []) { self.readings = readings }

  /// Notes where the clock stands.
  package mutating func note(stamp: UInt32, time: Int64) {
    // What was noted before the clock was set back would mislead.
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

  /// Gives readings other stamps.
  mutating func lift(_ lifted: (UInt32) -> UInt32) {
    for index in readings.indices { readings[index].stamp = lifted(readings[index].stamp) }
  }

  /// A moment by which the use that gave `stamp` had happened; nil when that is not noted yet. O(log readings).
  package func time(of stamp: UInt32, at now: UInt32) -> Int64? {
    let index = UseTimes.index(of: stamp, at: now, count: readings.count) { readings[$0].stamp }
    return index < readings.count ? readings[index].time : nil
  }

  /// The first of `count` readings that was taken when `stamp` had been given; `count` when there is none.
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
