/// Finds the entries that a new original makes outdated.
///
/// A source names the bytes from which an entry was made; by default, it is the digest of the original of its URL.
/// Invariant: if an original is stored, its digest is the source of every entry of its URL that has the default source.
/// So the frame that puts an original with another digest also removes the outdated entries, and no crash can separate
/// the put from the removals. If many entries are outdated, earlier frames remove most of them. A put that follows its
/// original is placed again if the original changes before the commit. A hit does no work for this.
final class OriginalSources: StorePart {
  let context: StoreContext
  private let evictor: Evictor
  private let keyFinder: KeyFinder

  init(_ context: StoreContext, evictor: Evictor, keyFinder: KeyFinder) {
    self.context = context
    self.evictor = evictor
    self.keyFinder = keyFinder
  }

  /// Appends the removals of all entries made from originals that the puts in `changes` replace. Looks once at each
  /// entry of those URLs; of a crowded URL, only at the entries that `crowds` names.
  func appendOutdated(
    _ operations: [PendingOperation], _ crowds: Crowds, _ changes: inout FrameChanges,
    _ held: borrowing CommitLock.Held
  ) {
    var next = 0
    for index in changes.list.indices {
      guard case .put(let put) = changes.list[index] else { continue }
      while operations[next].location != put.location { next += 1 }
      guard Style.isOriginal(operations[next].key.style, tag: put.hash.styleTag), put.displaced?.content != put.content
      else { continue }
      let source = Source(operations[next].digest)
      let chosen = isRight(crowds[next], put.hash) ? crowds[next]?.outdated : nil
      forEachStyle(operations[next].key.url, chosen ?? catalog.dependentStyles(of: put.hash), held) {
        hash, location, view in
        if let header = view?.header, !isOutdated(header, source) { return }
        changes.remove(hash, location, from: &held.state.index)
      }
    }
  }

  /// Whether an entry was made from an original other than the one with this source.
  private func isOutdated(_ header: RecordHeader, _ source: Source) -> Bool {
    !isIndependent(header) && header.source != source
  }

  private func isIndependent(_ header: RecordHeader) -> Bool {
    header.source == nil || header.flags.contains(.namedSource)
  }

  /// Calls `body` with those of the entries that still exist and belong to the URL. It also calls `body` with entries
  /// whose records cannot be read, which may belong to another URL.
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

  /// The most readable outdated entries of a crowded URL that the frame of the put removes. Earlier frames remove the
  /// others. After ``mostCrowdLooks`` looks, the frame removes all of them.
  private static let mostOutdated = 64

  /// The most looks of one commit: at crowded URLs, and for evictions of a URL's styles that found no entry.
  /// After them, the commit looks at the entries under the commit lock and ignores the limit of styles of a URL.
  /// Evictions for the budget of a style are counted separately (``EntryLimits``).
  static let mostCrowdLooks = 8

  private func isRight(_ crowd: Crowd?, _ hash: KeyHash) -> Bool {
    crowd != nil && crowd?.lastChange == catalog.keys.lastChange(hash)
  }

  /// Whether a put of an original among the operations must first look at the entries of a crowded URL.
  func needsLook(
    _ operations: [PendingOperation], _ crowds: Crowds, looks: Int, _ held: borrowing CommitLock.Held
  ) -> Bool {
    // If the entries of a URL change faster than they are looked at, they are looked at under the lock.
    looks < OriginalSources.mostCrowdLooks
      && operations.indices.contains { index in
        isOriginalsPut(operations[index]) && catalog.keys.lastChange(operations[index].key.hash) != nil
          && !isRight(crowds[index], operations[index].key.hash)
          // A put of the same original makes no entry outdated.
          && keyFinder.sourceOfOriginal(operations[index], held) != Source(operations[index].digest)
      }
  }

  private func isOriginalsPut(_ operation: PendingOperation) -> Bool {
    operation.location != nil && Style.isOriginal(operation.key.style, tag: operation.key.hash.styleTag)
  }

  /// Looks at the entries of crowded URLs that the put originals may outdate. Removes the outdated ones except the last
  /// ``mostOutdated`` of each URL. Takes the commit lock once for each frame of at most 256 removals.
  func lookAtCrowds(_ operations: [PendingOperation]) throws(StoreError) -> Crowds {
    var crowds: Crowds = [:]
    for (index, operation) in operations.enumerated() where isOriginalsPut(operation) {
      guard let lastChange = catalog.keys.lastChange(operation.key.hash) else { continue }
      let source = Source(operation.digest)
      var found: [Victim] = []
      var unread: [(KeyHash, Location)] = []
      var dependentCount = 0
      // The least recently used come first, in the order of eviction.
      for (hash, location) in catalog.dependentStylesByAge(of: operation.key.hash) {
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
        guard view.has(url: operation.key.url), isOutdated(view.header, source) else { continue }
        found.append(Victim(hash: hash, stamp: catalog.keys.clock.now, location: location))
      }
      if dependentCount == 0, unread.isEmpty { catalog.keys.noteIndependence(operation.key.hash, since: lastChange) }
      let kept = found.suffix(OriginalSources.mostOutdated)
      try evictor.evict(Array(found.dropLast(kept.count)))
      crowds[index] = Crowd(lastChange: lastChange, outdated: unread + kept.map { ($0.hash, $0.location) })
    }
    return crowds
  }
}

/// Crowds for puts of originals, by the index of the operation.
typealias Crowds = [Int: Crowd]

/// The entries of a crowded URL that the put of its original removes.
struct Crowd {
  let lastChange: UInt64
  let outdated: [(KeyHash, Location)]
}
