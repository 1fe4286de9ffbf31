/// Removes from the index the entries that a refused change has named.
///
/// After a failed write or sync, and once the folder of an open store is found deleted, moved or replaced, neither a
/// frame nor a checkpoint is written any more. So the index may forget the entries that a refused change would have
/// replaced or removed, and later gets miss them. All other entries stay readable.
///
/// A deletion is noticed by the names of the folder and of its parts. Changes that wait for the disk check all names
/// after their sync. Removals, batches, bodies and drawings check `LOCK` under the store's path before they begin,
/// which is one system call. Buffered puts rely on an earlier check for 100 ms.
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

  /// Removes from the index the entries that a refused change has named. With `withStyles`, an original takes all
  /// styles of its URL along, as a put of another original would. Does nothing while the store can still write.
  func forget(_ keys: [CacheKey], withStyles: Bool = false) {
    let arena = KeyArena()
    let gone = keys.map { key in
      let isWhole = withStyles && key.style == .original
      let url = arena.copy(key.url)
      return PendingOperation(
        key: OperationKey(
          hash: catalog.hasher.key(url, styleTag: isWhole ? 0 : key.style.tag), url: url,
          style: isWhole ? UnsafeRawBufferPointer(start: nil, count: 0) : arena.copy(key.style.bytes)),
        digest: Digest(high: 0, low: 0), logicalByteCount: 0, removesAllStyles: isWhole)
    }
    forgetting { sequence, held in
      // One by one, because a key may be among the styles of another.
      for operation in gone {
        _ = held.state.index.apply(
          committer.changes(of: [operation], [:], held).changes, sequence: sequence, isChecked: true)
      }
    }
    withExtendedLifetime(arena) {}
  }

  /// Forgets all styles of a URL.
  func forgetStyles(_ url: [UInt8]) { forget([CacheKey(bytes: url)], withStyles: true) }

  /// Forgets the entries that `isWanted` accepts.
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

  /// Forgets all entries.
  func forgetAll() {
    forgetting { sequence, held in
      _ = held.state.index.apply([.removeAll], sequence: sequence, isChecked: true)
      checker.forgetCarriedRecords()
    }
  }

  private func forgetting(_ body: (_ sequence: UInt64, _ held: borrowing CommitLock.Held) -> Void) {
    // In a forked child, the lock may be held forever, because another thread of the parent held it at the fork.
    if gate.isForkedChild { return }
    commitLock.withLock { held in
      if gate.writesNoMore || gate.isClosed, let wal { body(wal.appendedSequence, held) }
    }
  }

  /// Forgets the entries whose URL begins with `prefix` and whose URL's hash is not among `hashes`.
  func forgetAllBut(_ hashes: Set<UInt64>, prefix: [UInt8]) {
    forget { view, _ in view.url.starts(with: prefix) && !hashes.contains(catalog.hasher.wholeURL(view.url)) }
  }
}
