// Rule 7, the hard half: an opening that met a failed sync left its mark. Pages in memory may look written that are
// not, so nothing that no checkpoint vouches for counts until it was checked and written anew.
extension StoreCore {
  func writeAnewWhatNobodyVouchesFor() throws(StoreError) {
    mistrustsEarlierRecords = true
    defer { mistrustsEarlierRecords = false }
    for (hash, location) in unvouchedKeys() {
      if try !writeAnew(hash, location) {
        _ = try removeDamaged(hash, location)
        lostCount.wrappingAdd(1, ordering: .relaxed)
      }
    }
    // Nothing lives any more in what was left unchecked.
    locked { unchecked.removeAll() }
  }

  private func unvouchedKeys() -> [(KeyHash, Location)] {
    var found: [(KeyHash, Location)] = []
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) {
        var isVouched = catalog.segments.isVouched(entry.location)
        if isVouched, entry.flags.contains(.reference) {
          let payload = catalog.record(at: entry.location, checks: true).flatMap {
            catalog.payloadLocation(of: $0.header)
          }
          isVouched = payload.map { catalog.segments.isVouched($0) } ?? false
        }
        if !isVouched { found.append((entry.hash(shard: shard), entry.location)) }
      }
    }
    return found
  }

  /// Puts an entry again, with the bytes that its record gives now; in its old place where there is no room for another.
  /// False when they fail their check, or not even that can be written: then the entry goes.
  private func writeAnew(_ hash: KeyHash, _ location: Location) throws(StoreError) -> Bool {
    guard try !isDamaged(location), let view = catalog.record(at: location, checks: true) else { return false }
    let info = EntryInfo(view, lastUse: nil)
    let url = Array(view.url)
    let options = PutOptions(
      metadata: info.metadata, expirationMilliseconds: info.expirationMilliseconds, layout: info.layout,
      isPageAligned: view.header.flags.contains(.pageAligned),
      slidingExpirationMilliseconds: info.slidingExpirationMilliseconds, source: .none)
    let result: Result<Bool, StoreError> = url.withUnsafeBytes { url in
      info.key.style.bytes.withUnsafeBytes { style in
        let borrow = borrow(url, style, hash, counts: false)
        guard borrow.isFound else { return .success(false) }
        defer { giveBack(borrow) }
        return info.metadata.withUnsafeBytes { metadata in
          do throws(StoreError) {
            var put = try prepare(
              borrow.bytes, url: url, style: info.key.style, styleBytes: style, metadata: metadata, options: options)
            put.source = info.source
            put.isSourceNamed = info.hasNamedSource
            put.written = info.writtenMilliseconds
            try self.put(put, durability: .buffered)
            return .success(true)
          } catch .noSpace {
            return .success(false)
          } catch {
            return .failure(error)
          }
        }
      }
    }
    return try result.get() ? true : rewrite(location)
  }

  /// Writes the same bytes to the same place: their pages are dirty again then, and the next checkpoint syncs them. No
  /// reader can mind.
  private func rewrite(_ location: Location) throws(StoreError) -> Bool {
    guard let header = catalog.record(at: location, checks: true)?.header,
      let segment = catalog.segments.segment(location.slot)
    else { return false }
    if !header.carriesPayload {
      guard let payload = catalog.payloadLocation(of: header), try rewrite(payload) else { return false }
    }
    do throws(SystemError) {
      guard let file = try segment.openFile() else { return false }
      let end = location.offset + header.byteCount
      for start in stride(from: location.offset, to: end, by: 256 << 10) {
        try file.write(file.read(start..<min(end, start + (256 << 10))), at: start)
      }
    } catch {
      if SystemCode.isNoSpace(error.code) { return false }
      throw writeError(error)
    }
    locked {
      segment.isDirty = true
      segment.owesSync = true
    }
    return true
  }
}
