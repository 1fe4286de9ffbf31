extension CacheStore {
  /// Turns a SIGBUS within this library's mapped segments into a damage report instead of the end of the process.
  ///
  /// Such a signal comes from a page that the disk cannot deliver, or from a file that somebody else cut short. With the
  /// guard, a page of zeros takes the place of the missing one, and the get that touched it ends as a miss: it answers
  /// nil although its closure ran, and the entry is dropped and counted as damaged. A ``Blob`` says so by
  /// ``Blob/isDamaged``. The closure itself may have seen the zeros, so nothing it did with the bytes counts when the get
  /// answers nil. Bytes behind the end of a file cut in the middle of a page read as zeros without any signal, which no
  /// guard can notice; ``ReadMode/copied`` does.
  ///
  /// Signal handlers belong to the whole process, and so does this: it covers every store, those already open too, and
  /// cannot be taken back. Any other SIGBUS goes to the handler that was installed before; a handler that is installed
  /// later has to pass on to this one in the same way. Threads that block SIGBUS are not protected: the system ends the
  /// process there. A forked child keeps the guard. Calling it again does nothing. Thread-safe.
  public static func installBusErrorGuard() throws(StoreError) {
    try system { () throws(SystemError) in try BusErrors.installGuard() }
  }
}
