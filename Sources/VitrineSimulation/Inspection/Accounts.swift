import Vitrine

/// Contract 5: recounted live, dead and free bytes match the store's figures and its files, every live payload has
/// a key, and no two live parts overlap.
package enum Accounts {
  /// Returns a description of the violation, or nil. The size of a record with a damaged head is unknown. So beside
  /// damage the store may count more bytes than exist, but never fewer.
  ///
  /// `fileByteCount` returns the length of a file of `segments/`; nil if the caller does not have it.
  package static func check(
    _ store: CacheStore, besideDamage: Bool = false, fileByteCount: (String) -> Int? = { _ in nil }
  ) -> String? {
    func isRight(_ said: Int, _ counted: Int) -> Bool { said == counted || besideDamage && said > counted }
    let catalog = store.catalog
    var live: [Int: [Range<Int>]] = [:]
    func enter(_ location: Location, _ skipped: Int, _ units: Int) {
      let start = location.offset + skipped * Unit.byteCount
      live[location.slot, default: []].append(start..<start + units * Unit.byteCount)
    }
    var users: [Location: Int] = [:]
    var keyCount = 0
    var logical = 0
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) {
        keyCount += 1
        guard let header = catalog.record(at: entry.location, checks: true)?.header else {
          return "a key without a record at \(entry.location)"
        }
        logical += header.logicalByteCount
        enter(entry.location, 0, header.headUnits)
        guard let payload = header.carriesPayload ? entry.location : catalog.payloadLocation(of: header) else {
          return "a key without a payload"
        }
        users[payload, default: 0] += 1
      }
    }
    var blobCount = 0
    for shard in 0..<ContentTable.shardCount {
      var words: [UInt64] = []
      catalog.contents.forEach(shard: shard) { words.append($0) }
      for word in words {
        blobCount += 1
        let location = ContentTable.location(ofWord: word)
        let count = catalog.contents.count(ContentTable.hash(ofWord: word, shard: shard), location)
        let used = users[location] ?? 0
        if !isRight(count, used) { return "a blob has \(used) keys and counts \(count)" }
        guard let header = catalog.record(at: location, checks: true)?.header else {
          if besideDamage, used == 0 { continue }
          return "a blob without a record"
        }
        enter(location, header.headUnits, header.payloadUnits)
      }
    }
    if !isRight(blobCount, users.count) { return "\(users.count) payloads are used, \(blobCount) blobs are known" }
    for case let segment? in store.probe.segments {
      let account = store.probe.account(segment)
      let parts = (live[segment.slot] ?? []).sorted { $0.lowerBound < $1.lowerBound }
      let units = parts.reduce(0) { $0 + $1.count } / Unit.byteCount
      if !isRight(account.live.units, units) || !isRight(account.live.count, parts.count) {
        return "\(segment.fileName) says \(account.live.units) units in \(account.live.count) live parts, "
          + "and has \(units) in \(parts.count)"
      }
      // The bytes of no live part are dead up to the tail and free behind it.
      var end = SegmentHeader.byteCount
      for part in parts where !part.isEmpty {
        if part.lowerBound < end { return "\(segment.fileName) has two live parts at \(part.lowerBound)" }
        end = part.upperBound
      }
      if end > account.fill.tail { return "\(segment.fileName) has a live part behind its tail, at \(end)" }
      if account.fill.tail > account.byteCount { return "\(segment.fileName) ends behind its end" }
    }
    for segment in store.statistics().segments {
      let told = SegmentHeader.byteCount + segment.liveByteCount + segment.deadByteCount + segment.freeByteCount
      guard let byteCount = fileByteCount(segment.file), told != byteCount else { continue }
      return "\(segment.file) has \(byteCount) bytes, and \(told) are live, dead and free"
    }
    let probe = store.probe
    if keyCount != probe.keyCount { return "\(keyCount) keys, counted as \(probe.keyCount)" }
    if blobCount != probe.blobCount { return "\(blobCount) blobs, counted as \(probe.blobCount)" }
    if !isRight(probe.logicalByteCount, logical) {
      return "\(logical) logical bytes, counted as \(probe.logicalByteCount)"
    }
    return nil
  }
}
