// Sources: what an entry was made from. By default that is the digest of its URL's original, and the invariant is: where
// an original is stored, every entry of its URL that has its source by default has that original's digest. An original
// with another digest therefore takes those entries with it, in its own frame, so that no crash can part them; and a
// put that follows its original is placed again when that has changed before the commit. A hit pays nothing for it.
extension StoreCore {
  /// The source that an entry of this URL gets by default now. A record that so far stands only in the log is restored, which
  /// takes the commit lock.
  func sourceOfOriginal(_ url: UnsafeRawBufferPointer, _ hash: KeyHash) -> Source? {
    let original = Style.original
    let hash = KeyHash(url: hash.bits, styleTag: original.tag)
    return original.bytes.withUnsafeBytes { style in
      guard
        let (slot, pin) = pinRecord(url, style, hash) ?? pinRestored(url, style, hash)
      else { return nil }
      defer { pin.release() }
      return (catalog.record(at: slot.location, checks: false)?.header.digest).map { Source($0) }
    }
  }

  /// Appends the removal of everything that was made from originals which the puts in `changes` replace. Under the
  /// commit lock. Looks at each entry of those URLs once, and of crowded URLs only at those that `crowds` names.
  func appendOutdated(_ operations: [PendingOperation], _ crowds: Crowds, _ changes: inout FrameChanges) {
    var next = 0
    for index in changes.list.indices {
      guard case .put(let put) = changes.list[index] else { continue }
      while operations[next].location != put.location { next += 1 }
      guard Style.isOriginal(operations[next].style, tag: put.hash.styleTag), put.displaced?.content != put.content
      else { continue }
      let source = Source(operations[next].digest)
      let chosen = isRight(crowds[next], put.hash) ? crowds[next]?.outdated : nil
      forEachStyle(operations[next].url, put.hash, chosen) { hash, location, view in
        if let header = view?.header, !isOutdated(header, source) { return }
        changes.remove(hash, location, from: catalog)
      }
    }
  }

  /// Whether an entry was made from another original than the one that has this source.
  private func isOutdated(_ header: RecordHeader, _ source: Source) -> Bool {
    header.source != nil && header.source != source && !header.flags.contains(.namedSource)
  }

  /// Calls `body` with every entry of a URL, or with the chosen ones that are still there, also with those whose records
  /// cannot be read, which may be another URL's. Under the commit lock. One pass over the table.
  func forEachStyle(
    _ url: UnsafeRawBufferPointer, _ hash: KeyHash, _ chosen: [(KeyHash, Location)]? = nil,
    _ body: (KeyHash, Location, RecordView?) -> Void
  ) {
    for (hash, location) in chosen ?? styles(of: hash) {
      if chosen != nil, !catalog.keys.find(hash, location) { continue }
      let view = restoredRecord(at: location)
      if let view, !view.has(url: url) { continue }
      body(hash, location, view)
    }
  }

  func styles(of hash: KeyHash) -> [(KeyHash, Location)] {
    var found: [(KeyHash, Location)] = []
    catalog.keys.forEachStyle(hash) { found.append(($1, $0.location)) }
    return found
  }

  private func stylesByAge(of hash: KeyHash) -> [(KeyHash, Location)] {
    let now = catalog.keys.clock.now
    var found: [(age: UInt32, entry: (KeyHash, Location))] = []
    catalog.keys.forEachStyle(hash) { slot, hash in
      found.append((RecencyClock.age(of: slot.stamp, at: now), (hash, slot.location)))
    }
    return found.sorted { $0.age > $1.age }.map(\.entry)
  }

  // MARK: URLs with very many styles

  // To look at 100,000 records takes 80 ms, so that happens before the commit lock is taken. Under the lock the result
  // counts if the URL has no entry since but those that were looked at (``KeyTable/lastChange(_:)``).

  /// For puts of originals, by their place among the operations.
  typealias Crowds = [Int: Crowd]

  /// The entries of a crowded URL that an original's put takes with it.
  struct Crowd {
    fileprivate let lastChange: UInt64
    fileprivate let outdated: [(KeyHash, Location)]
  }

  /// Entries that go in the frame of the put itself. More than these go before, in frames of their own.
  private static let mostOutdated = 64
  /// Looks at crowded URLs that one commit takes, and evictions that come to nothing, before it does without.
  static let mostCrowdLooks = 8

  private func isRight(_ crowd: Crowd?, _ hash: KeyHash) -> Bool {
    crowd != nil && crowd?.lastChange == catalog.keys.lastChange(hash)
  }

  /// Whether an original's put among the operations has to look at a crowded URL's entries first. Under the commit lock.
  func needsLook(_ operations: [PendingOperation], _ crowds: Crowds, looks: Int) -> Bool {
    // A URL whose entries change faster than they are looked at is looked at under the lock.
    looks < StoreCore.mostCrowdLooks
      && operations.indices.contains { index in
        let operation = operations[index]
        return isOriginalsPut(operation) && catalog.keys.lastChange(operation.hash) != nil
          && !isRight(crowds[index], operation.hash)
          // The same original again takes nothing.
          && sourceOfOriginal(operation) != Source(operation.digest)
      }
  }

  private func isOriginalsPut(_ operation: PendingOperation) -> Bool {
    operation.location != nil && Style.isOriginal(operation.style, tag: operation.hash.styleTag)
  }

  /// Looks at all entries of the crowded URLs whose originals are put, and removes those that are outdated but for the last
  /// few. Takes the commit lock for each 256 removals.
  func lookAtCrowds(_ operations: [PendingOperation]) throws(StoreError) -> Crowds {
    var crowds: Crowds = [:]
    for (index, operation) in operations.enumerated() where isOriginalsPut(operation) {
      guard let lastChange = catalog.keys.lastChange(operation.hash) else { continue }
      let source = Source(operation.digest)
      var found: [Victim] = []
      var unread: [(KeyHash, Location)] = []
      // The least recently used first, as eviction takes them.
      for (hash, location) in stylesByAge(of: operation.hash) {
        let pinned = catalog.keys.withEntry(hash, location) { self.catalog.segments.pin($0.location.slot) }
        guard let pin = pinned else { continue }
        defer { pin.release() }
        guard let view = catalog.record(at: location, checks: true) else {
          unread.append((hash, location))
          continue
        }
        guard view.has(url: operation.url), isOutdated(view.header, source) else { continue }
        found.append(Victim(hash: hash, stamp: catalog.keys.clock.now, location: location))
      }
      let kept = found.suffix(StoreCore.mostOutdated)
      try evict(Array(found.dropLast(kept.count)))
      crowds[index] = Crowd(lastChange: lastChange, outdated: unread + kept.map { ($0.hash, $0.location) })
    }
    return crowds
  }

  /// An entry that has its own source was asked for by another: it goes. What cannot be written down now stays.
  func dropOutdated(_ hash: KeyHash, _ location: Location, sequence: UInt64) {
    _ = try? tryToRemove([RecordName(hash: hash, location: location, sequence: sequence)])
  }
}
