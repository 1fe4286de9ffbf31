import Vitrine

/// Workloads of several threads.
enum ThreadWorkloads {
  static let threads = CrashWorkload(
    "threads", summary: "changes from several threads, in the middle of others, of syncs, checkpoints and compactions",
    options: StoreOptions(byteBudget: 2 << 20)
  ) { store, numbers in
    for number in 0..<8 { try store.put("old\(number)", RecordedStore.bytes(3000 + number * 500, number)) }
    for number in 0..<4 { try store.put("gone\(number)", RecordedStore.bytes(90, 40 + number)) }
    for round in 0..<4 {
      let bystanders = (0..<1 + numbers.below(3)).map { number -> RecordedStore.Bystander in
        let synced = numbers.chance(70)
        if numbers.chance(25) { return .remove("other\(numbers.below(3))", synced: synced) }
        return .put("by\(number)", RecordedStore.bytes(numbers.size() / 3, round * 10 + number), synced: synced)
      }
      let (what, size) = (numbers.below(7), numbers.size())
      try store.overlap(sync: 1 + numbers.below(3), bystanders) {
        switch what {
        case 0: try store.flush()
        case 1: try store.checkpoint()
        case 2:
          for number in 0..<6 { try store.remove("old\(number)") }
          try store.compact()
        case 3: store.upkeep()
        case 4: try store.remove("gone\(round)", synced: true)
        default: try store.put("first", RecordedStore.bytes(size, 100 + round), synced: true)
        }
      }
    }
    try store.put("other1", RecordedStore.bytes(400, 7), synced: true)
  }
}
