/// Decides when a store needs its next round of upkeep.
///
/// While a round changes anything or puts something off, the next one follows after a second. Otherwise the next
/// round waits for a use, a change, or the earliest time at which a part of upkeep has work.
struct UpkeepSchedule {
  /// Numbers that change with each lookup, change, wake and step of upkeep.
  struct Mark: Equatable {
    let sequence: UInt64
    let checkpointCount: Int
    let lookupCount: Int
    let byteCount: Int
    let wakeCount: Int
    let retiringCount: Int
    let orphanCount: Int
  }

  private var last: Mark?
  private var hasPutOff = false
  /// The step after the last look before a sleep; nil if the store is not falling asleep.
  private var sleep: NextStep?

  /// Notes that a round has left work: it failed, or its time has not come.
  mutating func putOff() { hasPutOff = true }

  /// Notes the state after a round. Returns whether another round may change anything.
  mutating func note(_ mark: Mark) -> Bool {
    defer { (last, hasPutOff) = (mark, false) }
    return mark != last || hasPutOff
  }

  mutating func fallAsleep(until next: NextStep) { sleep = next }

  /// Ends falling asleep. Returns the next step if nothing has changed since; nil if a round is needed.
  mutating func takeLastLook(_ mark: Mark) -> NextStep? {
    defer { sleep = nil }
    return mark == last ? sleep : nil
  }

  var isFallingAsleep: Bool { sleep != nil }
}
