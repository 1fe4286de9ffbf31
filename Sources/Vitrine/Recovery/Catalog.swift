/// The index of a store and its segments, as all threads see them. Only a ``CatalogWriter`` adds, moves and removes
/// entries. Any thread may note uses and checks of an entry.
package final class Catalog: Sendable {
  package let keys: KeyTable
  package let contents: ContentTable
  package let segments: SegmentTable
  package let hasher: KeyHasher
  /// Dates the stamps of the keys.
  package let useTimes = SharedUseTimes()
  /// Follows the requests of a sample of the keys.
  let misses = MissSampler()

  init(keys: KeyTable, contents: ContentTable, segments: SegmentTable, hasher: KeyHasher) {
    self.keys = keys
    self.contents = contents
    self.segments = segments
    self.hasher = hasher
  }

  /// Returns the record at a location if it is valid; `checks` compares its checksum too.
  @inline(__always)
  package func record(at location: Location, checks: Bool) -> RecordView? {
    try? openRecord(at: location, checks: checks)
  }

  /// Returns the record at a location. Throws if the segment is not mapped and its file cannot be opened now. In a
  /// read-only opening, a removed file is such an error. In a writer, a removed file has no record. An unreadable file
  /// has no record either.
  @inline(__always)
  package func openRecord(at location: Location, checks: Bool) throws(SystemError) -> RecordView? {
    let bytes = segments.bytes(at: location)
    if bytes.isEmpty { return try copiedRecord(at: location, checks: checks) }
    guard let header = RecordHeader(bytes), header.sequence >= segments.firstSequence(location.slot),
      !checks || header.isIntact(in: bytes, seed: segments.seed(location))
    else { return nil }
    let view = RecordView(header: header, bytes: bytes)
    // Checked last: zeros may have replaced a page while the fields were read.
    return segments.isDamaged(view.head, slot: location.slot) ? nil : view
  }

  private func copiedRecord(at location: Location, checks: Bool) throws(SystemError) -> RecordView? {
    let available = segments.available(at: location)
    guard available > 0, let file = try file(location.slot),
      let view = try? RecordCopy.view(file, offset: location.offset, available: available),
      view.header.sequence >= segments.firstSequence(location.slot),
      !checks || view.header.isIntact(in: view.bytes, seed: segments.seed(location))
    else { return nil }
    return view
  }

  /// Returns the file for reading a segment; nil if the segment is gone. Throws if the file cannot be opened now. In a
  /// read-only opening, a missing file is an error too: the writer has unlinked it, and the next refresh finds the new
  /// locations of its records.
  package func file(_ slot: Int) throws(SystemError) -> (any File)? {
    guard let storage = segments.segment(slot)?.storage else { return nil }
    do throws(SystemError) {
      return try storage.readable()
    } catch {
      if error.code == SystemError.missing, storage.access == .readWrite { return nil }
      throw error
    }
  }

  /// Returns the location of a reference's payload; nil if it is gone or damaged.
  package func payloadLocation(of header: RecordHeader) -> Location? {
    payloadLocation(of: header) { record(at: $0, checks: true) }
  }

  func payloadLocation(of header: RecordHeader, _ record: (Location) -> RecordView?) -> Location? {
    var found: [Location] = []
    contents.candidates(hasher.content(header.digest)) { location in
      found.append(location)
      return true
    }
    return found.first { location in
      guard let other = record(location)?.header else { return false }
      return other.digest == header.digest && other.origin == header.origin
    }
  }
}
