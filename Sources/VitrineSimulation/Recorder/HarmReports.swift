import Vitrine

/// The harm that a store has ever reported: it counts entries that it drops, and notes if removed entries may have
/// returned.
struct HarmReports {
  /// The harm reported by openings that have ended.
  private var harmBefore = Harm.none
  private var lossesBefore = 0

  /// More than a workload has, and far from an overflow.
  private static let anyNumber = 1 << 40

  /// Returns the harm reported so far. `store` is the present opening.
  func harm(_ store: CacheStore) -> Harm {
    let opening = store.statistics().lastOpen
    // Segments hold the newest change of each key, except removals: no removal has been lost without the other
    // note.
    if opening.mayHaveLostRemovals, opening.kind != .rebuilt { return max(harmBefore, .entriesMayBeOlder) }
    return losses(store) > 0 ? max(harmBefore, .entriesMayMiss) : harmBefore
  }

  /// Returns the number of entries that may be missing by the reports: as many as the store has counted, and any number
  /// if it notes that something could not be read. `store` is the present opening.
  func losses(_ store: CacheStore) -> Int {
    let statistics = store.statistics()
    let opening = statistics.lastOpen
    let noted = opening.notes.contains(where: HarmReports.isLoss) ? HarmReports.anyNumber : 0
    return lossesBefore + statistics.damagedCount + statistics.lostCount + opening.droppedCount + noted
  }

  /// Keeps the reports of an opening that has ended.
  mutating func add(_ store: CacheStore) { (harmBefore, lossesBefore) = (harm(store), losses(store)) }

  /// Adds the report of a repair between two openings.
  mutating func add(_ report: RepairReport) {
    guard !report.damaged.isEmpty || report.notes.contains(where: HarmReports.isLoss) else { return }
    harmBefore = max(harmBefore, .entriesMayMiss)
    lossesBefore += HarmReports.anyNumber
  }

  /// Whether a note of an opening or a repair tells of a loss. A rebuilt index alone is none.
  private static func isLoss(_ note: String) -> Bool { !note.hasPrefix("rebuilt from the segments") }
}
