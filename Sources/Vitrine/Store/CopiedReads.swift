// Values that are not lent where they lie: compressed ones, and all of a store that maps no segment (``ReadMode``).
extension StoreCore {
  /// The value of a record in a buffer of the thread, decompressed where it has to be: valid until the thread's context
  /// releases it. Nil when it cannot be read whole.
  func copyToThread(_ view: RecordView, _ pin: Pin) -> UnsafeRawBufferPointer? {
    let header = view.header
    let context = ThreadContext.current
    guard header.carriesPayload else { return nil }
    guard header.encoding == .zstd else {
      return context.value(byteCount: header.storedByteCount) { view.copy?.readPayload(of: header, into: $0) ?? false }
    }
    guard let copy = view.copy else {
      guard let stored = view.payload, let value = context.decompress(stored, byteCount: header.logicalByteCount)
      else { return nil }
      if !isDamaged(stored, pin) { return value }
      context.releaseValue()
      return nil
    }
    let scratch = context.scratch
    scratch.withSpace(header.storedByteCount) { copy.readPayload(of: header, into: $0) ? $0.count : 0 }
    defer { scratch.removeAll(keeping: ThreadContext.mostKept) }
    return context.decompress(scratch.bytes, byteCount: header.logicalByteCount)
  }
}
