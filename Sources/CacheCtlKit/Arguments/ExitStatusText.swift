/// The meanings of the exit statuses, for the help and the manual.
enum ExitStatusText {
  static let meanings: [(status: Int, meaning: String)] = [
    (0, "done"),
    (1, "problem found (damage, key not there)"),
    (2, "usage"),
    (3, "could not run (locked, not a store, I/O)"),
    (4, "not kept (import, fetch: evicted again, because the budget holds less)"),
  ]

  /// All meanings in one sentence.
  static var sentence: String {
    "Exit status: " + meanings.map { "\($0.status) \($0.meaning)" }.joined(separator: ", ") + "."
  }
}
