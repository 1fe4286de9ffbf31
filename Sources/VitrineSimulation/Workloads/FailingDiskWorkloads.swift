import Vitrine

/// Workloads during which the disk fails. The power is lost at any moment of the store's reaction.
enum FailingDiskWorkloads {
  static let failedSyncs = failing(
    "failed-syncs", summary: "failed syncs, after which pages only look written; then the store is opened again"
  ) { store, numbers in
    let disk = store.world.disk
    for life in 0..<3 {
      let folder = ["wal", "segments", "checkpoints"][numbers.below(3)]
      let occurrence = 1 + numbers.below(4)
      for number in 0..<4 { try change(store, of: 4, 20 * life + number, &numbers) }
      disk.plan(
        Fault(
          .syncFile, on: .containing("/\(folder)/"), occurrence: occurrence,
          .loseUnsyncedPages(ErrorCode.inputOutput)))
      for number in 4..<10 { try change(store, of: 4, 20 * life + number, &numbers) }
      if numbers.chance(50) { store.upkeep() }
      // If the fault has not struck yet, it may strike the closing or the opening.
      if numbers.chance(60) { disk.removeFaults() }
      // Without room for copies, doubtful records are written again in place.
      if numbers.chance(30) { disk.fillUp() }
      do {
        try store.reopen()
      } catch is StoreError {
        disk.removeFaults()
        try store.reopen()
      }
      disk.removeFaults()
      disk.giveRoom()
      if numbers.chance(50) { store.upkeep() }
    }
    try store.put("last", RecordedStore.bytes(90, 99), synced: true)
  }

  static let fullDisk = failing(
    "full-disk", summary: "another program fills the disk, so that no file can be made, and frees it again"
  ) { store, numbers in
    let disk = store.world.disk
    for turn in 0..<3 {
      for number in 0..<3 { try change(store, of: 6, 40 * turn + number, &numbers) }
      disk.fillUp(refusingNewNames: numbers.chance(40))
      for number in 3..<8 { try change(store, of: 6, 40 * turn + number, &numbers) }
      if numbers.chance(50) { store.upkeep() }
      if numbers.chance(30) { try store.reopen() }
      disk.giveRoom()
    }
    try store.put("last", RecordedStore.bytes(90, 99), synced: true)
  }

  private static func failing(
    _ name: String, summary: String, body: @escaping CrashWorkload.Body
  ) -> CrashWorkload {
    CrashWorkload(name, summary: summary, traits: .hasFaults, body: body)
  }

  /// Changes one of this many keys, mostly by a put.
  private static func change(
    _ store: RecordedStore, of count: Int, _ number: Int, _ numbers: inout any RandomNumberGenerator
  ) throws {
    let name = "k\(numbers.below(count))"
    switch numbers.below(8) {
    case 0: try store.remove(name, synced: numbers.chance(50))
    case 1: try store.setMetadata(name, RecordedStore.bytes(9, number), synced: numbers.chance(50))
    case 2: try store.checkpoint()
    default: try store.put(name, numbers.bytes(numbers.size() / 2, number), synced: numbers.chance(50))
    }
  }
}
