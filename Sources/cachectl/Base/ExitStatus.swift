/// The exit status of the tool. The numbers are part of the interface.
package enum ExitStatus: Int32 {
  case done = 0
  /// A problem was found, such as damage, a missing key, a skipped file or a folder above the requested size.
  case problemFound = 1
  case usage = 2
  /// The store was locked, the path is not a store, I/O failed, or the command was interrupted.
  case couldNotRun = 3
  /// The command did its work, but the budget could not hold all values: the store refused or evicted some of them.
  case notKept = 4
}
