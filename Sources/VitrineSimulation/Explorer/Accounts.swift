import Vitrine

/// Contract 5: counted anew, live, dead and free bytes are what the store says, and every live payload has a key.
package enum Accounts {
  /// Answers what is wrong, or nil.
  package static func check(_ store: CacheStore) -> String? {
    let catalog = store.catalog
    var live: [Int: (units: Int, count: Int)] = [:]
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
        live[entry.location.slot, default: (0, 0)].units += header.headUnits
        live[entry.location.slot, default: (0, 0)].count += 1
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
        if users[location] != count { return "a blob has \(users[location] ?? 0) keys and counts \(count)" }
        guard let header = catalog.record(at: location, checks: true)?.header else { return "a blob without a record" }
        live[location.slot, default: (0, 0)].units += header.payloadUnits
        live[location.slot, default: (0, 0)].count += 1
      }
    }
    if users.count != blobCount { return "\(users.count) payloads are used, \(blobCount) blobs are known" }
    for case let segment? in catalog.segments.segments {
      let counted = live[segment.slot] ?? (0, 0)
      if segment.liveUnits != counted.units || segment.liveCount != counted.count {
        return "\(segment.fileName) says \(segment.liveUnits) units in \(segment.liveCount) live parts, "
          + "and has \(counted.units) in \(counted.count)"
      }
      if segment.tail > segment.byteCount { return "\(segment.fileName) ends behind its end" }
    }
    if keyCount != catalog.keyCount { return "\(keyCount) keys, counted as \(catalog.keyCount)" }
    if blobCount != catalog.blobCount { return "\(blobCount) blobs, counted as \(catalog.blobCount)" }
    if logical != catalog.logicalByteCount { return "\(logical) logical bytes, counted as \(catalog.logicalByteCount)" }
    return nil
  }
}
