/// When the store was last put to, as upkeep has noticed, and last compacted for want of anything better. Monotonic
/// nanoseconds, guarded by the upkeep lock.
struct QuietWatch {
  var bytesPut = 0
  var lastPut: UInt64 = 0
  var lastStep: UInt64 = 0
}
