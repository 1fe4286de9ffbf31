/// Reads the heads that a commit will compare, ahead of the commit lock.
///
/// A commit compares keys and updates accounts by the heads of the records that it displaces. Heads that were not used
/// recently have to be read from the disk. Every writer waits for the commit lock, so the heads are read before: into
/// the mapped pages, or into ``HeadsAhead`` if no segment is mapped. Under the lock, the commit looks everything up
/// again, and reads the heads of entries that have changed.
final class ReadAhead: StorePart {
  let context: StoreContext

  init(_ context: StoreContext) {
    self.context = context
  }

  /// Reads the heads that a commit of the operations will look at. Returns nil if segments are mapped. A key that is
  /// not in the index costs one lookup. A crowded URL has many entries beside its original; only those that `crowds`
  /// names are read. After ``OriginalSources/mostCrowdLooks`` looks, it reads all of them.
  func readAhead(
    _ operations: [PendingOperation], _ crowds: Crowds = [:], looks: Int = OriginalSources.mostCrowdLooks
  ) -> HeadsAhead? {
    let heads = newHeads
    for index in operations.indices {
      let hash = operations[index].key.hash
      if operations[index].removesAllStyles {
        readStyles(of: hash, heads)
        continue
      }
      if operations[index].record?.mayReplace == false {
        // The put found no entries. Later ones are read under the lock.
      } else if operations[index].record != nil, Style.isOriginal(operations[index].key.style, tag: hash.styleTag) {
        let isLookedAt = looks < OriginalSources.mostCrowdLooks && catalog.keys.lastChange(hash) != nil
        readStyles(beside: operations[index], isLookedAt ? crowds[index]?.outdated ?? [] : nil, heads)
      } else {
        _ = readEntry(hash, operations[index].key.url, operations[index].key.style, heads)
      }
      // If segments are mapped, the put has just looked at these.
      guard let heads, let record = operations[index].record else { continue }
      if record.shared != nil || !record.others.isEmpty {
        readPayload(catalog.hasher.content(operations[index].digest), heads) { _ in false }
      }
      if operations[index].original != nil { readOriginal(of: operations[index].key.url, hash, heads) }
    }
    return heads
  }

  /// Reads the heads of entries that are to be removed. Returns nil if segments are mapped.
  func readAhead(_ entries: some Collection<(KeyHash, Location)>) -> HeadsAhead? {
    let heads = newHeads
    for (hash, location) in entries { readEntry(hash, location, heads) }
    return heads
  }

  private var newHeads: HeadsAhead? { reads == .copied ? HeadsAhead() : nil }

  /// Reads the entries that fit the operation's hash, up to the key's own. Returns the header of that one.
  private func readEntry(of operation: PendingOperation, _ heads: HeadsAhead?) -> RecordHeader? {
    readEntry(operation.key.hash, operation.key.url, operation.key.style, heads)
  }

  private func readEntry(
    _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ heads: HeadsAhead?
  ) -> RecordHeader? {
    var passed = PassedEntries()
    while let (slot, pin) = catalog.pinEntry(hash, besides: passed) {
      defer { pin.release() }
      passed.add(slot.location)
      guard let view = read(slot.location, heads) else { continue }
      readPayload(of: view.header, heads)
      if view.has(url: url, style: style) { return view.header }
    }
    return nil
  }

  private func readOriginal(of url: UnsafeRawBufferPointer, _ hash: KeyHash, _ heads: HeadsAhead?) {
    let original = Style.original
    original.bytes.withUnsafeBytes { style in
      _ = readEntry(KeyHash(url: hash.bits, styleTag: original.tag), url, style, heads)
    }
  }

  private func readStyles(of hash: KeyHash, _ heads: HeadsAhead?) {
    for (hash, location) in catalog.styles(of: hash) { readEntry(hash, location, heads) }
  }

  /// Reads the styles that a new original removes because they were made from the old one: `chosen`, or all dependent
  /// ones.
  private func readStyles(
    beside original: PendingOperation, _ chosen: [(KeyHash, Location)]?, _ heads: HeadsAhead?
  ) {
    if readEntry(of: original, heads)?.digest == original.digest { return }
    for (hash, location) in chosen ?? catalog.dependentStyles(of: original.key.hash) {
      readEntry(hash, location, heads)
    }
  }

  private func readEntry(_ hash: KeyHash, _ location: Location, _ heads: HeadsAhead?) {
    let pinned = catalog.keys.withEntry(hash, location) { catalog.segments.pin($0.location.slot) }
    guard let pin = pinned else { return }
    defer { pin.release() }
    if let header = read(location, heads)?.header { readPayload(of: header, heads) }
  }

  /// Reads the record with the payload of a reference. Its head has the size of the payload.
  private func readPayload(of reference: RecordHeader, _ heads: HeadsAhead?) {
    if reference.carriesPayload { return }
    readPayload(catalog.hasher.content(reference.digest), heads) { header in
      header.digest == reference.digest && header.origin == reference.origin
    }
  }

  /// Reads the records whose payloads fit a hash, until `isMeant` accepts one.
  private func readPayload(
    _ content: ContentHash, _ heads: HeadsAhead?, until isMeant: (RecordHeader) -> Bool
  ) {
    var passed = PassedEntries()
    while let (location, pin) = catalog.pinCandidate(content, besides: passed) {
      defer { pin.release() }
      passed.add(location)
      if let header = read(location, heads)?.header, isMeant(header) { return }
    }
  }

  /// Returns the checked head at a location whose segment is pinned.
  private func read(_ location: Location, _ heads: HeadsAhead?) -> RecordView? {
    guard let view = catalog.record(at: location, checks: true) else { return nil }
    heads?.note(view, at: location, in: catalog.segments.id(location.slot))
    return view
  }
}
