import Glibc
import Vitrine

/// `kill ROUNDS [SEED [FOLDER [MILLISECONDS]]]`: exit status 0 if every promise was kept, 1 for a violation, 2 for
/// wrong usage, 3 if it could not run. A writer works for this many milliseconds at most. The folder must not
/// exist, and is removed afterwards unless a promise was broken.
enum KillCommand {
  /// The command of the killed processes.
  static let writer = "kill-writer"

  static func run(_ words: [String]) -> CInt {
    guard (1...4).contains(words.count), let rounds = Int(words[0]), rounds > 0,
      let seed = words.count > 1 ? UInt64(words[1]) : UInt64.random(in: 0..<1_000_000),
      let milliseconds = words.count > 3 ? Int(words[3]) : 2000, (1...60_000).contains(milliseconds)
    else {
      emit("usage: store-process kill ROUNDS [SEED [FOLDER [MILLISECONDS]]]")
      return 2
    }
    let folder = words.count > 2 ? words[2] : "/var/tmp/vitrine-kill-\(getpid())"
    guard mkdir(folder, 0o700) == 0 else {
      emit("\(folder): \(String(cString: strerror(errno)))")
      return 3
    }
    emit("seed \(seed)")
    let start = monotonicNanoseconds()
    var run = KillRun(store: "\(folder)/store", seed: seed, milliseconds: milliseconds)
    for round in 1...rounds {
      do {
        try run.round()
      } catch {
        emit("round \(round): \((error as? KillViolation)?.text ?? "\(error)")")
        emit("\(run.results.text)\nviolations: 1")
        emit("the store is left in \(folder); the same plan again: make kill ROUNDS=\(rounds) SEED=\(seed)")
        return 1
      }
      if round % 25 == 0, round < rounds { emit("round \(round) of \(rounds): \(run.results.acknowledged) changes") }
    }
    let seconds = (monotonicNanoseconds() - start) / 1_000_000_000
    emit("\(run.results.text)\nviolations: 0, in \(seconds) s")
    FolderTree.remove(folder)
    return 0
  }
}
