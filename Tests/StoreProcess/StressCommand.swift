import Glibc
import Vitrine

/// `stress [LOAD…] SECONDS [FOLDER [BUDGET]]`: exit status 0 when every promise was kept, 1 for a violation, 2 for
/// wrong usage, 3 when it could not run. The folder must not exist, and is gone afterwards unless a promise was broken.
///
/// Loads:
/// - `stalled`: a thousand clients that send nothing (``StalledClients``)
/// - `giants`: batches of more than half of the budget side by side (``GiantBatches``)
/// - `styles`: a URL with 100,000 styles
/// - `sessions`: short openings of another store, in which most entries have expired (``ShortSessions``)
/// - `large`: the store is opened with the largest budget, and with BUDGET at the end
/// - `scarce`: the process may have 128 files open
enum StressCommand {
  private static let loads = ["stalled", "giants", "styles", "sessions", "large", "scarce"]

  static func run(_ words: [String]) -> CInt {
    let loads = Set(words).intersection(loads)
    let words = words.filter { !loads.contains($0) }
    guard (1...3).contains(words.count), let seconds = Double(words[0]),
      (1...1e6).contains(seconds),
      let budget = words.count < 3 ? 64 << 20 : Int(words[2]), budget >= 1 << 20
    else {
      let loads = self.loads.map { "[\($0)]" }.joined(separator: " ")
      emit("usage: store-process stress \(loads) SECONDS [FOLDER [BUDGET]]")
      return 2
    }
    let folder = words.count > 1 ? words[1] : "/var/tmp/vitrine-stress-\(getpid())"
    guard mkdir(folder, 0o700) == 0 else {
      emit("\(folder): \(String(cString: strerror(errno)))")
      return 3
    }
    if loads.contains("scarce"), !FileLimit.lower(to: 128) {
      emit("the limit of open files cannot be lowered")
      return 3
    }
    let plan = PromiseRun.Plan(
      seconds: seconds, budget: budget, folder: "\(folder)/store", hasStalledClients: loads.contains("stalled"),
      hasGiantBatches: loads.contains("giants"), hasCrowd: loads.contains("styles"),
      hasShortSessions: loads.contains("sessions"), isLarge: loads.contains("large"))
    do {
      let results = try PromiseRun(plan).run()
      emit(results.text(plan))
      if results.violations.isEmpty {
        FolderTree.remove(folder)
        return 0
      }
      emit("the store is left in \(plan.folder)")
      return 1
    } catch {
      emit("\(error)")
      return 3
    }
  }
}
