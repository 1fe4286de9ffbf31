/// What the tool's caller is told. The numbers are part of the interface.
enum ExitStatus: Int32 {
  case done = 0
  /// Damage was found, or the key is not there.
  case problemFound = 1
  case usage = 2
  /// Locked, not a store, I/O; or broken off before it was done.
  case couldNotRun = 3
}
