import Vitrine

/// Workloads on the stores of earlier versions.
enum UpgradeWorkloads {
  static let upgrade = upgrade(from: StoreArchive.firstVersion.files)

  /// Returns a workload on the files of a store, by their paths in it.
  static func upgrade(from files: [String: [UInt8]], traits: CrashWorkload.Traits = []) -> CrashWorkload {
    let paths = files.map { ("\(RecordedStore.path)/\($0.key)", $0.value) }
    return CrashWorkload(
      "upgrade", summary: "a store that the first version has left after a loss of power, opened and changed",
      options: StoreOptions(), traits: traits, files: Dictionary(uniqueKeysWithValues: paths)
    ) { store, numbers in
      // Styles made from an original are removed with it. `names` has the originals from which no style was made.
      let originals = Set(store.history.keys.filter { $0.style == .original }.map(\.urlText))
      let names = originals.subtracting(["photo", "named"]).sorted()
      try store.replace(
        "photo", RecordedStore.bytes(410, 73), outdating: [Style("square-60@2x")!], synced: numbers.chance(50))
      for number in 0..<10 {
        let name = names[numbers.below(names.count)]
        let isSynced = numbers.chance(40)
        switch numbers.below(9) {
        case 0: try store.remove(name, synced: isSynced)
        case 1: try store.setMetadata(name, RecordedStore.bytes(numbers.below(60), number), synced: isSynced)
        case 2: try store.setExpiration(name, numbers.chance(50) ? nil : store.now + 3_600_000, synced: isSynced)
        case 3: try store.removeAll(prefix: "moved/\(numbers.below(10))", synced: isSynced)
        case 4:
          let put = ("new/\(number)", RecordedStore.bytes(300, number))
          try store.batch(puts: [put], removals: [name], synced: isSynced)
        case 5:
          // Shares the payload that the earlier version has written.
          guard let bytes = store.store.bytes(CacheKey(name)) else { continue }
          try store.put("also \(name)", bytes, synced: isSynced)
        case 6: store.hold(name)
        default: try store.put(name, numbers.bytes(numbers.size() / 4, number), synced: isSynced)
        }
        switch numbers.below(12) {
        case 0: store.upkeep()
        case 1: try store.compact()
        case 2: try store.checkpoint()
        case 3: try store.reopen()
        default: break
        }
      }
      try store.checkHeld()
      try store.close()
    }
  }
}
