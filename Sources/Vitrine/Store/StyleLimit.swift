// The most styles of a URL (``StoreOptions/maximumStylesPerURL``): a put of one more evicts the least recently used others.
extension StoreCore {
  /// A URL by its hash, and how many of its styles have to go before the operations are committed: nil when none have to.
  /// Under the commit lock.
  func excessStyles(_ operations: [PendingOperation]) -> (url: KeyHash, count: Int)? {
    // Entries that are only written anew evict no other.
    guard let most = maximumStyles, !mistrustsEarlierRecords else { return nil }
    var new: [KeyHash: Int] = [:]
    for operation in operations where operation.location != nil {
      let url = operation.hash.ofURL
      if Style.isOriginal(operation.style, tag: operation.hash.styleTag)
        || catalog.keys.styleCount(url, without: Style.original.tag) + operations.count <= most
        || find(operation.hash, operation.url, operation.style).location != nil
      {
        continue
      }
      new[url, default: 0] += 1
    }
    for (url, new) in new {
      let count = catalog.keys.styleCount(url, without: Style.original.tag)
      // A batch with more styles than may be keeps all of its own.
      if count > 0, count + new > most { return (url, min(count, count + new - most)) }
    }
    return nil
  }

  /// Evicts the least recently used styles of a URL, never its original. Takes the commit lock for each frame.
  /// Answers how many went.
  func evictStyles(of url: KeyHash, _ count: Int) throws(StoreError) -> Int {
    let now = catalog.keys.clock.now
    var found: [(age: UInt32, victim: Victim)] = []
    catalog.keys.forEachStyle(url) { slot, hash in
      if hash.styleTag == Style.original.tag { return }
      let victim = Victim(hash: hash, stamp: slot.stamp, location: slot.location)
      found.append((RecencyClock.age(of: slot.stamp, at: now), victim))
    }
    // Mostly one goes, and then a pass is enough.
    if count > 1 {
      found.sort { $0.age > $1.age }
    } else {
      found = found.max { $0.age < $1.age }.map { [$0] } ?? []
    }
    let victims = found.prefix(count).map(\.victim)
    // Before the lock: heads that were not used for long lie on the disk.
    return try evict(victims)
  }
}
