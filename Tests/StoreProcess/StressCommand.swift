import Glibc
import Vitrine

/// `stress [LOAD…] SECONDS [FOLDER [BUDGET]]`: exit status 0 when every promise was kept, 1 for a violation, 2 for wrong
/// usage, 3 when it could not run. The load `stalled` is a thousand clients that send nothing (``StalledClients``),
/// `giants` are batches of more than half of the budget side by side (``GiantBatches``), `styles` is
/// a URL with 100,000 styles. The folder must not exist, and is gone afterwards unless a promise was broken.
enum StressCommand {
  static func run(_ words: [String]) -> CInt {
    let loads = Set(words).intersection(["stalled", "giants", "styles"])
    let words = words.filter { !loads.contains($0) }
    guard (1...3).contains(words.count), let seconds = Double(words[0]),
      (1...1e6).contains(seconds),
      let budget = words.count < 3 ? 64 << 20 : Int(words[2]), budget >= 1 << 20
    else {
      emit("usage: store-process stress [stalled] [giants] [styles] SECONDS [FOLDER [BUDGET]]")
      return 2
    }
    let folder = words.count > 1 ? words[1] : "/var/tmp/vitrine-stress-\(getpid())"
    guard mkdir(folder, 0o700) == 0 else {
      emit("\(folder): \(String(cString: strerror(errno)))")
      return 3
    }
    let plan = PromiseRun.Plan(
      seconds: seconds, budget: budget, folder: "\(folder)/store", hasStalledClients: loads.contains("stalled"),
      hasGiantBatches: loads.contains("giants"), hasCrowd: loads.contains("styles"))
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
