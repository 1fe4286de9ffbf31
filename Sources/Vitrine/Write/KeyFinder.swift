/// Finds the live record of a key under the commit lock.
final class KeyFinder: StorePart {
  let context: StoreContext
  private let checker: RecordChecker

  init(_ context: StoreContext, checker: RecordChecker) {
    self.context = context
    self.checker = checker
  }

  /// Returns the source of the stored original of the operation's URL.
  func sourceOfOriginal(
    _ operation: PendingOperation, _ held: borrowing CommitLock.Held
  ) -> Source? {
    let original = Style.original
    let hash = KeyHash(url: operation.key.hash.bits, styleTag: original.tag)
    return original.bytes.withUnsafeBytes { style in
      find(hash, operation.key.url, style, held).location.flatMap { location in
        (held.state.index.lockedRecord(at: location, checks: false)?.header.digest).map { Source($0) }
      }
    }
  }

  /// Returns the live record of the operation's key. No record that it reads can be removed meanwhile.
  func find(_ operation: PendingOperation, _ held: borrowing CommitLock.Held) -> Location? {
    find(operation.key.hash, operation.key.url, operation.key.style, held).location
  }

  /// Returns the live record of a key, and the entries with the same hash whose records could not be read.
  func find(
    _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer,
    _ held: borrowing CommitLock.Held
  ) -> (location: Location?, damaged: [Location]) {
    var damaged: [Location] = []
    var passed = PassedEntries()
    while let slot = catalog.keys.find(hash, besides: passed, { $0 }) {
      passed.add(slot.location)
      if let view = restoredRecord(at: slot.location, checks: !slot.flags.contains(.checked), held) {
        if view.has(url: url, style: style) { return (slot.location, damaged) }
      } else {
        damaged.append(slot.location)
      }
    }
    return (nil, damaged)
  }

  /// Returns the record at a location, restored from the log if necessary.
  func restoredRecord(
    at location: Location, checks: Bool = true, _ held: borrowing CommitLock.Held
  ) -> RecordView? {
    if let view = held.state.index.lockedRecord(at: location, checks: checks) { return view }
    guard let file = catalog.segments.segment(location.slot)?.file,
      (try? checker.restore(location, into: file, held)) == true
    else {
      return nil
    }
    return catalog.record(at: location, checks: true)
  }
}
