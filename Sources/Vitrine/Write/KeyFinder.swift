/// Finds the live record of a key under the commit lock.
final class KeyFinder: StorePart {
  let context: StoreContext
  private let checker: RecordChecker

  init(_ context: StoreContext, checker: RecordChecker) {
    self.context = context
    self.checker = checker
  }

  /// The source that a put gets which follows its original, as it is now.
  func sourceOfOriginal(
    _ operation: PendingOperation, _ held: borrowing CommitLock.Held
  ) -> Source? {
    let original = Style.original
    let hash = KeyHash(url: operation.hash.bits, styleTag: original.tag)
    return original.bytes.withUnsafeBytes { style in
      find(hash, operation.url, style, held).location.flatMap { location in
        (catalog.lockedRecord(at: location, checks: false)?.header.digest).map { Source($0) }
      }
    }
  }

  /// The live record of the operation's key. Nothing that it looks at can go.
  func find(_ operation: PendingOperation, _ held: borrowing CommitLock.Held) -> Location? {
    find(operation.hash, operation.url, operation.style, held).location
  }

  /// The live record of a key, and the entries met on the way whose records cannot be read.
  func find(
    _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer,
    _ held: borrowing CommitLock.Held
  ) -> (location: Location?, damaged: [Location]) {
    var damaged: [Location] = []
    var skip = 0
    while let slot = catalog.keys.find(hash, skip: skip, counts: false, { $0 }) {
      skip += 1
      if let view = restoredRecord(at: slot.location, checks: !slot.flags.contains(.checked), held) {
        if view.has(url: url, style: style) { return (slot.location, damaged) }
      } else {
        damaged.append(slot.location)
      }
    }
    return (nil, damaged)
  }

  /// The record at a location, written back from the log if it has to be.
  func restoredRecord(
    at location: Location, checks: Bool = true, _ held: borrowing CommitLock.Held
  ) -> RecordView? {
    if let view = catalog.lockedRecord(at: location, checks: checks) { return view }
    guard let file = catalog.segments.segment(location.slot)?.file,
      (try? checker.restore(location, into: file, held)) == true
    else {
      return nil
    }
    return catalog.record(at: location, checks: true)
  }
}
