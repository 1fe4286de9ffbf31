extension CacheStore {
  /// Turns a SIGBUS within this library's mapped segments into a damage report instead of the end of the process.
  ///
  /// The signal is raised for a page that the disk cannot deliver, or for a file that another program has truncated.
  /// With the guard, a page of zeros replaces the missing page. The get that touched it returns nil although its
  /// closure ran; the entry is dropped and counted as damaged. Discard all results of a closure whose get returns nil,
  /// since the closure may have seen the zeros. For a ``Blob``, ``Blob/isDamaged`` becomes true. If a file is truncated
  /// in the middle of a page, the rest of that page reads as zeros without a signal. Only ``ReadMode/copied`` detects
  /// that.
  ///
  /// Signal handlers belong to the whole process: the guard covers every store, also those already open, and cannot be
  /// removed. It passes any other SIGBUS to the handler installed before. A handler that is installed later must pass
  /// signals on in the same way. Threads that block SIGBUS are not protected: the system ends the process. A forked
  /// child keeps the guard. A second call does nothing. Thread-safe. Throws `system` if the handler cannot be
  /// installed.
  public static func installBusErrorGuard() throws(StoreError) {
    try system { () throws(SystemError) in try BusErrors.installGuard() }
  }
}
