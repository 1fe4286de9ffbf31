extension KeyTable {
  /// Returns the first entry in the table of a crowded URL that the hash fits. Skips entries whose mark shows that they
  /// are not of `style`, because some styles of a crowded URL have equal tags.
  @inline(never)
  func firstInCrowd(
    _ hash: KeyHash, _ style: UnsafeRawBufferPointer?, _ shard: borrowing Held
  ) -> UnsafeMutablePointer<KeySlot>? {
    let mark = style.map(Style.mark(of:)) ?? 0
    return shard.pointee.crowds?.slot(of: hash) { mark == 0 || $0.styleMark == 0 || $0.styleMark == mark }
  }

  /// Whether the URL may have an entry, in any style. Another URL with the same tag counts too. A put of a new URL asks
  /// this in place of several lookups.
  func mayHaveEntries(ofURL hash: KeyHash) -> Bool {
    withShard(hash.shard) { shard in
      shard.pointee.run.contains(urlTag: hash.urlTag) || shard.pointee.crowds.map { $0.count(ofURL: hash) > 0 } ?? false
    }
  }

  /// Calls `body` under the shard's lock with every entry of the URL, in all styles.
  package func forEachStyle(_ hash: KeyHash, _ body: (KeySlot, KeyHash) -> Void) {
    withShard(hash.shard) { shard in
      forEachInRun(hash, shard) { body($0, $0.hash(shard: hash.shard)) }
      shard.pointee.crowds?.forEach(ofURL: hash) { body($0.pointee, $0.pointee.hash(shard: hash.shard)) }
    }
  }

  /// Calls `body` with each entry that a new original of the URL may outdate.
  package func forEachDependentStyle(_ hash: KeyHash, _ body: (KeySlot, KeyHash) -> Void) {
    withShard(hash.shard) { shard in
      forEachInRun(hash, shard) { if !$0.flags.contains(.independent) { body($0, $0.hash(shard: hash.shard)) } }
      shard.pointee.crowds?.forEachDependent(ofURL: hash) { body($0.pointee, $0.pointee.hash(shard: hash.shard)) }
    }
  }

  private func forEachInRun(_ hash: KeyHash, _ shard: borrowing Held, _ body: (KeySlot) -> Void) {
    let run = shard.pointee.run
    guard run.capacity > 0 else { return }
    var place = run.home(hash.urlTag)
    while !run.slots[place].isEmpty {
      if run.slots[place].urlTag == hash.urlTag { body(run.slots[place]) }
      place = run.next(place)
    }
  }

  /// Returns the number of the last change of a crowded URL. A change enters, replaces or moves an entry that an
  /// original may outdate. If the number is unchanged, no such entry was added since. Returns nil if the URL has no
  /// table of its own, or if no original may outdate an entry there.
  package func lastChange(_ hash: KeyHash) -> UInt64? {
    withShard(hash.shard) { $0.pointee.crowds?.lastChange(hash) }
  }

  /// Notes that no original outdates any entry of a crowded URL, if `number` is still its last change.
  package func noteIndependence(_ hash: KeyHash, since number: UInt64) {
    withShard(hash.shard) { $0.pointee.crowds?.noteIndependence(hash, since: number) }
  }

  /// Returns the number of entries of the URL whose styles have other tags than `tag`.
  package func styleCount(_ hash: KeyHash, without tag: UInt16) -> Int {
    withShard(hash.shard) { shard in
      var count = 0
      forEachInRun(hash, shard) { if $0.styleTag != tag { count += 1 } }
      guard let crowds = shard.pointee.crowds else { return count }
      return count + crowds.count(ofURL: hash) - crowds.count(KeyHash(url: hash.bits, styleTag: tag))
    }
  }
}
