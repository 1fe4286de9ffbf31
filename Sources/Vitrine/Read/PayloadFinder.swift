/// Finds and pins the payload of a record that carries none itself. Copies values that cannot be borrowed in place:
/// compressed values, and values in segments that are not mapped (``ReadMode``, ``MappingWindow``).
final class PayloadFinder: StorePart {
  let context: StoreContext
  private let checker: RecordChecker

  init(_ context: StoreContext, checker: RecordChecker) {
    self.context = context
    self.checker = checker
  }

  /// Returns the value of a record in a buffer of the thread, decompressed if necessary. It is valid until the thread's
  /// context releases it. Returns nil if the value cannot be read whole.
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

  /// Opens the file in which borrowed bytes lie, for reading only. Returns nil if they are a copy, if the file cannot
  /// be opened now, or if its name belongs to a segment of another store by now: a reader's store may have been
  /// recreated.
  func file(of borrow: Borrow) -> (file: any File, offset: Int)? {
    guard !borrow.isCopied, let segment = catalog.segments.segment(catalog.segments.slot(of: borrow.pin)),
      let offset = borrow.count == 0 ? 0 : segment.storage?.fileOffset(of: borrow.bytes)
    else { return nil }
    guard let file = try? folders.segments.openFile(segment.fileName, .readOnly),
      let bytes = try? file.read(0..<SegmentHeader.byteCount),
      let header = bytes.withUnsafeBytes({ SegmentHeader($0) }), header.segment == segment.id,
      header.store == catalog.segments.store
    else { return nil }
    return (file, offset)
  }

  /// Finds and pins the record that carries a reference's payload, by digest and by the number of the payload's first
  /// record. `checks` is true if records must be checked through their files; this is not necessary for a key whose
  /// payload was checked before. Throws if no record was found and a file cannot be opened now: the payload may be in
  /// that file.
  func pinPayload(of reference: RecordHeader, checks: Bool) throws(SystemError) -> (Location, Pin)? {
    let content = catalog.hasher.content(reference.digest)
    var passed = PassedEntries()
    var unavailable: SystemError?
    while let (location, pin) = catalog.pinCandidate(content, besides: passed) {
      if !checks, let view = catalog.record(at: location, checks: true), view.header.isPayload(of: reference) {
        return (location, pin)
      }
      let outcome = checker.check(location, readsPayload: false)
      if case .intact(let header, _) = outcome, header.isPayload(of: reference) { return (location, pin) }
      pin.release()
      if case .unavailable(let error) = outcome { unavailable = error }
      passed.add(location)
    }
    if let unavailable { throw unavailable }
    return nil
  }
}
