import Glibc

/// The first ^C or termination ends the run after the engine at work, and removes the stores. The second one ends the
/// process.
enum Interruption {
  private nonisolated(unsafe) static var flag: sig_atomic_t = 0

  static var happened: Bool { flag != 0 }

  static func prepare() {
    for number in [SIGINT, SIGTERM] {
      signal(number) { number in
        Interruption.flag = 1
        signal(number, SIG_DFL)
      }
    }
  }
}
