import Vitrine
import VitrineSimulation

// The example of Docs/Testing.md, word for word. `DocumentationTests` compares the two; no test calls it.

func exploreAvatars() -> CrashReport {
  let avatars = CrashWorkload("avatars", options: StoreOptions(byteBudget: 2 << 20)) { store, numbers in
    for user in 0..<8 {
      let size = Int.random(in: 1...40_000, using: &numbers)
      try store.put("user/\(user % 3)", RecordedStore.bytes(size, user), synced: user % 2 == 0)
    }
    try store.remove("user/1", synced: true)
    store.upkeep()
  }
  let report = CrashExplorer(workloads: [avatars], seed: 1, states: 5000, faults: 500).run()
  for violation in report.violations { print(violation.text, violation.story, violation.place) }

  return report
}
