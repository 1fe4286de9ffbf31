/// Finds and pins the payload of a record that carries none itself.
///
/// Values that are not lent where they lie: compressed ones, and all of a store that maps no segment (``ReadMode``).
final class PayloadFinder: StorePart {
  let context: StoreContext
  private let checker: RecordChecker

  init(_ context: StoreContext, checker: RecordChecker) {
    self.context = context
    self.checker = checker
  }

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
      if !catalog.isDamaged(stored, pin) { return value }
      context.releaseValue()
      return nil
    }
    let scratch = context.scratch
    scratch.withSpace(header.storedByteCount) { copy.readPayload(of: header, into: $0) ? $0.count : 0 }
    defer { scratch.removeAll(keeping: ThreadContext.mostKept) }
    return context.decompress(scratch.bytes, byteCount: header.logicalByteCount)
  }

  /// Finds and pins the record that carries a reference's payload: by digest and by the number of its first record.
  /// `checks`: through the file, which a key whose payload was checked before can do without. Throws when none was found, and a file cannot be opened now: it may be the one that a copy was made from.
  func pinPayload(of reference: RecordHeader, checks: Bool) throws(SystemError) -> (Location, Pin)? {
    let content = catalog.hasher.content(reference.digest)
    var skip = 0
    var unavailable: SystemError?
    while let (location, pin) = catalog.pinCandidate(content, skip: skip) {
      if !checks, let view = catalog.record(at: location, checks: true), view.header.isPayload(of: reference) {
        return (location, pin)
      }
      let outcome = checker.check(location, readsPayload: false)
      if case .intact(let header, _) = outcome, header.isPayload(of: reference) { return (location, pin) }
      pin.release()
      if case .unavailable(let error) = outcome { unavailable = error }
      // With one gone from before them, the others are found one earlier.
      skip = catalog.contents.has(content, location) ? skip + 1 : 0
    }
    if let unavailable { throw unavailable }
    return nil
  }
}
