/// Reads the heads that a commit compares before the commit lock is taken.
///
/// A commit compares keys and settles accounts by the heads of records that it displaces. Heads that were not used for long
/// lie on the disk. So they are read before the commit lock is taken, which every writer waits for: into the pages that are
/// mapped, or, where no segment is mapped, into ``HeadsAhead``. Under the lock everything is looked up again; what has changed
/// in between is read there.
final class ReadAhead: StorePart {
  let context: StoreContext

  init(_ context: StoreContext) {
    self.context = context
  }

  /// Reads the heads that a commit of the operations will look at. Nil where segments are mapped. Costs a key that is not
  /// there one lookup. Of the entries beside a crowded URL's original, only those are read that `crowds` names, unless the
  /// commit has taken too many `looks` for it to wait for another.
  func readAhead(
    _ operations: [PendingOperation], _ crowds: Crowds = [:], looks: Int = OriginalSources.mostCrowdLooks
  ) -> HeadsAhead? {
    let heads = newHeads
    for (index, operation) in operations.enumerated() {
      switch operation.kind {
      case .removeStyles: readStyles(of: operation.hash, heads)
      case .remove: _ = readEntry(of: operation, heads)
      case .put(_, _, _, let shared, _):
        if Style.isOriginal(operation.style, tag: operation.hash.styleTag) {
          let isLookedAt = looks < OriginalSources.mostCrowdLooks && catalog.keys.lastChange(operation.hash) != nil
          readStyles(beside: operation, isLookedAt ? crowds[index]?.outdated ?? [] : nil, heads)
        } else {
          _ = readEntry(of: operation, heads)
        }
        // Where segments are mapped, the put has just looked at these.
        guard let heads else { continue }
        if shared != nil || !operation.others.isEmpty {
          readPayload(catalog.hasher.content(operation.digest), heads) { _ in false }
        }
        if operation.original != nil { readOriginal(of: operation.url, operation.hash, heads) }
      }
    }
    return heads
  }

  /// The same for entries that are to be removed.
  func readAhead(_ entries: some Collection<(KeyHash, Location)>) -> HeadsAhead? {
    let heads = newHeads
    for (hash, location) in entries { readEntry(hash, location, heads) }
    return heads
  }

  private var newHeads: HeadsAhead? { reads == .copied ? HeadsAhead() : nil }

  /// Reads the entries that the operation's hash fits up to its key's own; answers that one's header.
  private func readEntry(of operation: PendingOperation, _ heads: HeadsAhead?) -> RecordHeader? {
    readEntry(operation.hash, operation.url, operation.style, heads)
  }

  private func readEntry(
    _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer, _ heads: HeadsAhead?
  ) -> RecordHeader? {
    var skip = 0
    while let (location, pin) = catalog.keys.find(
      hash, skip: skip, counts: false, { ($0.location, self.catalog.segments.pin($0.location.slot)) })
    {
      defer { pin.release() }
      skip += 1
      guard let view = read(location, heads) else { continue }
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

  /// A new original removes the styles that were made from the old one: the chosen ones, or any.
  private func readStyles(
    beside original: PendingOperation, _ chosen: [(KeyHash, Location)]?, _ heads: HeadsAhead?
  ) {
    if readEntry(of: original, heads)?.digest == original.digest { return }
    for (hash, location) in chosen ?? catalog.dependentStyles(of: original.hash) { readEntry(hash, location, heads) }
  }

  private func readEntry(_ hash: KeyHash, _ location: Location, _ heads: HeadsAhead?) {
    let pinned = catalog.keys.withEntry(hash, location) { catalog.segments.pin($0.location.slot) }
    guard let pin = pinned else { return }
    defer { pin.release() }
    if let header = read(location, heads)?.header { readPayload(of: header, heads) }
  }

  /// The record with the payload of a reference, by whose head the payload's size is known.
  private func readPayload(of reference: RecordHeader, _ heads: HeadsAhead?) {
    if reference.carriesPayload { return }
    readPayload(catalog.hasher.content(reference.digest), heads) { header in
      header.digest == reference.digest && header.origin == reference.origin
    }
  }

  /// Reads the records whose payloads a hash fits, until one `isMeant`.
  private func readPayload(
    _ content: ContentHash, _ heads: HeadsAhead?, until isMeant: (RecordHeader) -> Bool
  ) {
    var skip = 0
    while let (location, pin) = catalog.pinCandidate(content, skip: skip) {
      defer { pin.release() }
      skip += 1
      if let header = read(location, heads)?.header, isMeant(header) { return }
    }
  }

  /// The checked head at a location, whose segment is pinned.
  private func read(_ location: Location, _ heads: HeadsAhead?) -> RecordView? {
    guard let view = catalog.record(at: location, checks: true) else { return nil }
    heads?.note(view, at: location, in: catalog.segments.id(location.slot))
    return view
  }
}
