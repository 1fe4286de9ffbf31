/// Finds the entries that a new original makes outdated.
///
/// Sources: what an entry was made from. By default that is the digest of its URL's original, and the invariant is: where
/// an original is stored, every entry of its URL that has its source by default has that original's digest. An original
/// with another digest therefore takes those entries with it, in its own frame, so that no crash can part them; and a
/// put that follows its original is placed again when that has changed before the commit. A hit pays nothing for it.
final class OriginalSources: StorePart {
  let context: StoreContext
  private let evictor: Evictor
  private let keyFinder: KeyFinder

  init(_ context: StoreContext, evictor: Evictor, keyFinder: KeyFinder) {
    self.context = context
    self.evictor = evictor
    self.keyFinder = keyFinder
  }

  /// Appends the removal of everything that was made from originals which the puts in `changes` replace. Looks at each entry of those URLs once, and of crowded URLs only at those that `crowds` names.
  func appendOutdated(
    _ operations: [PendingOperation], _ crowds: Crowds, _ changes: inout FrameChanges,
    _ held: borrowing CommitLock.Held
  ) {
    var next = 0
    for index in changes.list.indices {
      guard case .put(let put) = changes.list[index] else { continue }
      while operations[next].location != put.location { next += 1 }
      guard Style.isOriginal(operations[next].style, tag: put.hash.styleTag), put.displaced?.content != put.content
      else { continue }
      let source = Source(operations[next].digest)
      let chosen = isRight(crowds[next], put.hash) ? crowds[next]?.outdated : nil
      forEachStyle(operations[next].url, chosen ?? catalog.dependentStyles(of: put.hash), held) {
        hash, location, view in
        if let header = view?.header, !isOutdated(header, source) { return }
        changes.remove(hash, location, from: catalog)
      }
    }
  }

  /// Whether an entry was made from another original than the one that has this source.
  private func isOutdated(_ header: RecordHeader, _ source: Source) -> Bool {
    !isIndependent(header) && header.source != source
  }

  private func isIndependent(_ header: RecordHeader) -> Bool {
    header.source == nil || header.flags.contains(.namedSource)
  }

  /// Calls `body` with those of the entries that are still there and are the URL's, also with those whose records cannot be
  /// read, which may be another URL's.
  func forEachStyle(
    _ url: UnsafeRawBufferPointer, _ entries: [(KeyHash, Location)],
    _ held: borrowing CommitLock.Held, _ body: (KeyHash, Location, RecordView?) -> Void
  ) {
    for (hash, location) in entries where catalog.keys.find(hash, location) {
      let view = keyFinder.restoredRecord(at: location, held)
      if let view, !view.has(url: url) { continue }
      body(hash, location, view)
    }
  }

  /// Entries that go in the frame of the put itself. More than these go before, in frames of their own.
  private static let mostOutdated = 64

  /// Looks at crowded URLs that one commit takes, and evictions that come to nothing, before it does without.
  static let mostCrowdLooks = 8

  private func isRight(_ crowd: Crowd?, _ hash: KeyHash) -> Bool {
    crowd != nil && crowd?.lastChange == catalog.keys.lastChange(hash)
  }

  /// Whether an original's put among the operations has to look at a crowded URL's entries first.
  func needsLook(
    _ operations: [PendingOperation], _ crowds: Crowds, looks: Int, _ held: borrowing CommitLock.Held
  ) -> Bool {
    // A URL whose entries change faster than they are looked at is looked at under the lock.
    looks < OriginalSources.mostCrowdLooks
      && operations.indices.contains { index in
        let operation = operations[index]
        return isOriginalsPut(operation) && catalog.keys.lastChange(operation.hash) != nil
          && !isRight(crowds[index], operation.hash)
          // The same original again takes nothing.
          && keyFinder.sourceOfOriginal(operation, held) != Source(operation.digest)
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
      var dependentCount = 0
      // The least recently used first, as eviction takes them.
      for (hash, location) in catalog.dependentStylesByAge(of: operation.hash) {
        let pinned = catalog.keys.withEntry(hash, location) { self.catalog.segments.pin($0.location.slot) }
        guard let pin = pinned else { continue }
        defer { pin.release() }
        guard let view = catalog.record(at: location, checks: true) else {
          unread.append((hash, location))
          continue
        }
        if isIndependent(view.header) {
          catalog.keys.setIndependent(hash, location)
          continue
        }
        dependentCount += 1
        guard view.has(url: operation.url), isOutdated(view.header, source) else { continue }
        found.append(Victim(hash: hash, stamp: catalog.keys.clock.now, location: location))
      }
      if dependentCount == 0, unread.isEmpty { catalog.keys.noteIndependence(operation.hash, since: lastChange) }
      let kept = found.suffix(OriginalSources.mostOutdated)
      try evictor.evict(Array(found.dropLast(kept.count)))
      crowds[index] = Crowd(lastChange: lastChange, outdated: unread + kept.map { ($0.hash, $0.location) })
    }
    return crowds
  }
}

/// For puts of originals, by their place among the operations.
typealias Crowds = [Int: Crowd]

/// The entries of a crowded URL that an original's put takes with it.
struct Crowd {
  let lastChange: UInt64
  let outdated: [(KeyHash, Location)]
}
