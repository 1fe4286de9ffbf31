import CVitrineSystem

/// One borrow of a segment: until it ends, the segment stays mapped. Release pins in reverse order, on the thread
/// that took them.
package struct Pin {
  let level: Int32
  let address: UInt
  @inline(__always) package func release() { vitrine_unpin(level, address) }
}
