/// Takes entries out of the index that a refused change has named.
///
/// A folder that is deleted, moved or replaced while its store is open. Once that was noticed, nothing is written any more:
/// neither a frame nor a checkpoint. So the index may forget what a refused change would have replaced or removed, and no
/// get gives that any more; what no change has named stays readable.
///
/// A deletion is noticed by the names of the folder and of what is in it. Changes that wait for the disk ask for all names
/// behind their sync. Removals, batches, bodies and drawings ask for `LOCK` under the store's path before they begin, which
/// is one call to the system. Buffered puts rely on an earlier look for a tenth of a second.
final class Forgetter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checker: RecordChecker
  private let committer: Committer
  private let walk: EntryWalk

  init(_ context: StoreContext, gate: WriteGate, checker: RecordChecker, committer: Committer, walk: EntryWalk) {
    self.context = context
    self.gate = gate
    self.checker = checker
    self.committer = committer
    self.walk = walk
  }

  /// Takes entries out of the index that a refused change has named. `withStyles`: for an original, all styles of its URL,
  /// which a put of another one would have taken along. Nothing while the store can still write.
  func forget(_ keys: [CacheKey], withStyles: Bool = false) {
    let arena = KeyArena()
    let gone = keys.map { key in
      let isWhole = withStyles && key.style == .original
      let url = arena.copy(key.url)
      return PendingOperation(
        hash: catalog.hasher.key(url, styleTag: isWhole ? 0 : key.style.tag), url: url,
        style: isWhole ? UnsafeRawBufferPointer(start: nil, count: 0) : arena.copy(key.style.bytes),
        digest: Digest(high: 0, low: 0), logicalByteCount: 0, kind: isWhole ? .removeStyles : .remove)
    }
    forgetting { sequence, held in
      // One by one: a key may be among the styles of another.
      for operation in gone {
        _ = catalog.apply(committer.changes(of: [operation], [:], held).changes, sequence: sequence, isChecked: true)
      }
    }
    withExtendedLifetime(arena) {}
  }

  /// All styles of a URL.
  func forgetStyles(_ url: [UInt8]) { forget([CacheKey(bytes: url)], withStyles: true) }

  /// Entries that `isWanted` picks.
  func forget(where isWanted: (RecordView, KeySlot) -> Bool) {
    guard gate.writesNoMore else { return }
    var keys: [CacheKey] = []
    walk.forEachRecord { (view, _, slot) throws(Never) in
      if isWanted(view, slot) { keys.append(view.key) }
      if keys.count == 10_000 {
        forget(keys)
        keys.removeAll(keepingCapacity: true)
      }
      return true
    }
    forget(keys)
  }

  func forgetAll() {
    forgetting { sequence, held in
      _ = catalog.apply([.removeAll], sequence: sequence, isChecked: true)
      checker.carriedRecords.withLock { $0.removeAll() }
    }
  }

  private func forgetting(_ body: (_ sequence: UInt64, _ held: borrowing CommitLock.Held) -> Void) {
    // In a forked child another thread of the parent may have held the lock.
    if gate.isForkedChild { return }
    commitLock.withLock { held in if gate.writesNoMore, let wal { body(wal.appendedSequence, held) } }
  }

  func forgetAllBut(_ hashes: Set<UInt64>, prefix: [UInt8]) {
    forget { view, _ in view.url.starts(with: prefix) && !hashes.contains(catalog.hasher.wholeURL(view.url)) }
  }
}
