/// The times of the last put that upkeep noticed and of the last quiet-time compaction, in monotonic nanoseconds.
/// Guarded by the upkeep lock.
struct QuietWatch {
  var bytesPut = 0
  var lastPut: UInt64 = 0
  var lastStep: UInt64 = 0
}
