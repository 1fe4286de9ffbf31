// Rule 7, the hard half: an opening that met a failed sync left its mark. Pages in memory may look written that are
// not, so nothing that no checkpoint vouches for counts until it was checked and written anew.
extension StoreCore {
  func writeAnewWhatNobodyVouchesFor() throws(StoreError) {
    mistrustsEarlierRecords = true
    // No checkpoint on the way vouches for what was not written anew yet.
    isCheckingLeftovers = true
    defer {
      mistrustsEarlierRecords = false
      isCheckingLeftovers = false
    }
    var left = unvouchedKeys()
    while !left.isEmpty { left = try writeAnew(left) }
    // Nothing lives any more in what was left unchecked.
    locked { unchecked.removeAll() }
  }

  /// Puts entries again, in copies that one checkpoint commits: until it is published the old records count, which may be on
  /// the disk after all, or in a frame. Nor do they take room of the log, which may have none to give. In their old places
  /// where there is no room for copies. Answers those that are to share the payload of one that was put here.
  private func writeAnew(_ entries: [(KeyHash, Location)]) throws(StoreError) -> [(KeyHash, Location)] {
    let arena = KeyArena()
    defer { withExtendedLifetime(arena) {} }
    var copies: [PendingOperation] = []
    var copied: [(KeyHash, Location)] = []
    var later: [(KeyHash, Location)] = []
    var digests: Set<Digest> = []
    do throws(StoreError) {
      for (hash, location) in entries {
        let digest = catalog.record(at: location, checks: true)?.header.digest
        if let digest, digests.contains(digest) {
          later.append((hash, location))
        } else if let copy = try copyAnew(location, hash, arena) {
          copies.append(copy)
          copied.append((hash, location))
          if let digest { digests.insert(digest) }
        } else {
          try rewriteOrRemove(hash, location)
        }
      }
      if copies.isEmpty { return later }
      if try commitAnew(copies) { return later }
    } catch {
      locked { settle(copies) }
      throw error
    }
    locked { settle(copies) }
    for (hash, location) in copied { try rewriteOrRemove(hash, location) }
    return later
  }

  /// False where there is no room for a checkpoint with them.
  private func commitAnew(_ copies: [PendingOperation]) throws(StoreError) -> Bool {
    do throws(StoreError) {
      try growCheckpoints(moreKeys: copies.count)
      return try commitByCheckpoint(copies) != nil
    } catch .noSpace {
      return false
    }
  }

  private func rewriteOrRemove(_ hash: KeyHash, _ location: Location) throws(StoreError) {
    if try rewrite(location) { return }
    _ = try removeDamaged(hash, location)
    lostCount.wrappingAdd(1, ordering: .relaxed)
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

  /// A copy of an entry, with the bytes that its record gives now, to be committed. Nil when they fail their check, or there
  /// is no room for it.
  private func copyAnew(
    _ location: Location, _ hash: KeyHash, _ arena: KeyArena
  ) throws(StoreError) -> PendingOperation? {
    guard try !isDamaged(location), let view = catalog.record(at: location, checks: true) else { return nil }
    let info = EntryInfo(view, lastUse: nil)
    let url = arena.copy(Array(view.url))
    let style = arena.copy(info.key.style.bytes)
    let options = PutOptions(
      metadata: info.metadata, expirationMilliseconds: info.expirationMilliseconds, layout: info.layout,
      isPageAligned: view.header.flags.contains(.pageAligned),
      slidingExpirationMilliseconds: info.slidingExpirationMilliseconds, source: .none)
    let borrow = borrow(url, style, hash, counts: false)
    guard borrow.isFound else { return nil }
    defer { giveBack(borrow) }
    let result: Result<PendingOperation?, StoreError> = info.metadata.withUnsafeBytes { metadata in
      do throws(StoreError) {
        var put = try prepare(
          borrow.bytes, url: url, style: info.key.style, styleBytes: style, metadata: metadata, options: options)
        put.source = info.source
        put.isSourceNamed = info.hasNamedSource
        put.written = info.writtenMilliseconds
        return .success(try place(put, durability: .buffered))
      } catch .noSpace {
        return .success(nil)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Writes the same bytes to the same place: their pages are dirty again then, and the next checkpoint syncs them. No
  /// reader can mind.
  private func rewrite(_ location: Location) throws(StoreError) -> Bool {
    guard try !isDamaged(location), let header = catalog.record(at: location, checks: true)?.header,
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
