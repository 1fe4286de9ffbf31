/// The exit status of the tool. The numbers are part of the interface.
package enum ExitStatus: Int32 {
  case done = 0
  /// Damage was found, or the key does not exist.
  case problemFound = 1
  case usage = 2
  /// The store was locked, the path is not a store, I/O failed, or the command was interrupted.
  case couldNotRun = 3
  /// The command did its work, but the store has evicted again or refused some of the values: the budget holds less.
  case notKept = 4
}
