extension BodyWriter {
  /// Adds a piece as ``write(_:)-(RawSpan)`` does, for a thread that must not wait. If other unfinished bodies hold the
  /// room for it, throws `noSpace` at once and ends the writer.
  package func writeAtOnce(_ bytes: borrowing RawSpan) throws(StoreError) {
    let waiter = try bytes.withUnsafeBytes { bytes throws(StoreError) in try write(bytes, waits: false) }
    if waiter == nil { return }
    abandon()
    throw .noSpace
  }
}
