/// Checks records through their files, and restores those that the log carries.
///
/// A record is checked when it is read for the first time. If the check fails and a frame carries the record, it is
/// restored from the log. If there is still no intact record, the entry is dropped, and counted as lost or as damaged.
final class RecordChecker: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  /// The records that replayed frames carry, until a checkpoint is published. A restored record stays here.
  private let carriedRecords: Guarded<[Location: InlineRecord]>

  init(_ context: StoreContext, inline: [Location: InlineRecord], gate: WriteGate) {
    self.context = context
    self.gate = gate
    carriedRecords = Guarded(inline)
  }

  /// Checks a record through its file. If the check fails and a frame carries the record, restores it and checks again.
  func check(
    _ location: Location, readsPayload: Bool, withHead: (RecordView) -> Bool = { _ in true }
  ) -> RecordCheck.Outcome {
    let file: any File
    do throws(SystemError) {
      guard let found = try catalog.file(location.slot) else { return .damaged("its segment is gone") }
      file = found
    } catch {
      return .unavailable(error)
    }
    let outcome = recordCheck(location, file).run(readsPayload: readsPayload, withHead: withHead)
    guard case .damaged = outcome else { return outcome }
    do throws(SystemError) {
      guard try restore(location), let file = try catalog.file(location.slot) else { return outcome }
      return recordCheck(location, file).run(readsPayload: readsPayload, withHead: withHead)
    } catch {
      return .unavailable(error)
    }
  }

  private func recordCheck(_ location: Location, _ file: any File) -> RecordCheck {
    RecordCheck(
      file: file, seed: catalog.segments.seed(location), offset: location.offset,
      available: catalog.segments.available(at: location),
      firstSequence: catalog.segments.firstSequence(location.slot), digest: environment.digest)
  }

  /// Restores a record that the log carries: writes it to its place. Readers are not disturbed, because these are the
  /// bytes that belong there. A read-only opening does this in memory. Throws if the segment, or that memory, is not
  /// available now. Reads the log under no lock.
  func restore(_ location: Location) throws(SystemError) -> Bool {
    guard !gate.isForkedChild, let segment = catalog.segments.segment(location.slot), let storage = segment.storage
    else { return false }
    if copyOriginal(location, storage) { return true }
    guard let bytes = carried(location) else { return false }
    do throws(SystemError) {
      return try commitLock.withLock { held throws(SystemError) in
        // After a close the segment may be another opening's. After a checkpoint the log may hold other bytes.
        guard gate.isReadOnly || !gate.isClosed, carriedRecords.withLock({ $0[location] != nil }) else { return false }
        guard gate.isReadOnly else { return try write(bytes, carriedFor: location, into: try storage.openFile(), held) }
        try storage.mapPrivately()
        held.state.index.segments.remap(segment)
        return try write(bytes, carriedFor: location, into: try storage.readable(), held)
      }
    } catch {
      if error.code == SystemError.missing { return false }
      throw error
    }
  }

  /// Copies an intact record from the file into a private mapping. A page that was written to in private no longer
  /// shows the bytes that the writer puts there.
  private func copyOriginal(_ location: Location, _ storage: SegmentStorage) -> Bool {
    guard let original = storage.original,
      case .intact(let header, _) = recordCheck(location, original).run(readsPayload: true),
      let bytes = try? original.read(location.offset..<location.offset + header.byteCount)
    else { return false }
    return (try? storage.readable().write(bytes, at: location.offset)) != nil
  }

  /// Restores a record while the commit lock is held.
  func restore(
    _ location: Location, into file: any File, _ held: borrowing CommitLock.Held
  ) throws(SystemError) -> Bool {
    guard let bytes = carried(location) else { return false }
    return try write(bytes, carriedFor: location, into: file, held)
  }

  /// Returns the record that a frame carries for a location.
  private func carried(_ location: Location) -> [UInt8]? {
    guard let record = carriedRecords.withLock({ $0[location] }), let bytes = try? record.file.read(record.range),
      bytes.count == record.range.count
    else { return nil }
    return bytes
  }

  /// Writes the log's copy only if it is the record of this location and lies within the segment's file. Blocks behind
  /// the end of a shortened file are in no account.
  private func write(
    _ bytes: [UInt8], carriedFor location: Location, into file: any File, _ held: borrowing CommitLock.Held
  ) throws(SystemError) -> Bool {
    guard let segment = catalog.segments.segment(location.slot),
      location.offset + bytes.count <= min(held.state[segment].byteCount, segment.readableByteCount),
      bytes.withUnsafeBytes({ bytes in
        RecordHeader(bytes)?.isIntact(in: bytes, seed: catalog.segments.seed(location)) ?? false
      })
    else { return false }
    try file.write(bytes, at: location.offset)
    held.state[segment].sync.owe()
    return true
  }

  /// Restores all records that are known to be only in the log. Called before a checkpoint whose position passes the
  /// frames that carry them: behind that position, no recovery looks for them (rule 3). Each record is restored once,
  /// because the checkpoint syncs it. Takes the commit lock for one record at a time.
  func restoreCarried() throws(SystemError) {
    let locations = carriedRecords.withLock { inline in inline.filter { !$0.value.isRestored }.map(\.key) }
    // Sorted, so that the same recovery makes the same writes in the same order.
    for location in locations.sorted(by: { $0.bits < $1.bits }) {
      if !catalog.segments.isVouched(location) { _ = try restore(location) }
      carriedRecords.withLock { $0[location]?.isRestored = true }
    }
  }

  /// Forgets the records that the log carries. Called when no entry is left, and when a checkpoint was published: no
  /// recovery reads the frames before it.
  func forgetCarriedRecords() { carriedRecords.withLock { $0.removeAll() } }

  /// Forgets the records that the log carries for a segment that is gone.
  func forgetCarriedRecords(slot: Int) {
    carriedRecords.withLock { carried in carried = carried.filter { $0.key.slot != slot } }
  }

  /// Takes the records that the log carries after a refresh.
  func replaceCarriedRecords(with records: [Location: InlineRecord]) { carriedRecords.withLock { $0 = records } }

  var hasCarriedRecords: Bool { carriedRecords.withLock { !$0.isEmpty } }

  /// Whether an earlier opening wrote the record and nothing ever vouched for it: then it is lost, not damaged.
  func isFromBefore(_ location: Location) -> Bool {
    !catalog.segments.isVouched(location) && catalog.segments.firstSequence(location.slot) < firstSequence
      && lastOpen.kind != .clean
  }

  /// Returns a record with a whole head, restored from the log if necessary. The location must be pinned.
  func readableRecord(_ location: Location) -> RecordView? {
    if let view = catalog.record(at: location, checks: true) { return view }
    return (try? restore(location)) == true ? catalog.record(at: location, checks: true) : nil
  }

  /// Whether a record is damaged. Throws if that is not known now: then no entry is dropped, and no payload vouched
  /// for.
  func isDamaged(_ location: Location) throws(StoreError) -> Bool {
    switch check(location, readsPayload: true) {
    case .intact: return false
    case .damaged: return true
    case .unavailable(let error): throw .system(error)
    }
  }
}
