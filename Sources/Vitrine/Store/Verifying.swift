// `verify`: every live byte is read through the files and checked. Changes nothing.
extension StoreCore {
  func verify(progress: ((Int, Int) -> Void)?) throws(StoreError) -> VerificationReport {
    if isClosed { throw .closed }
    var report = VerificationReport()
    // By place, so that the disk is read in its own order. A blob is read once, however many keys use it.
    var places: [Location: KeyHash?] = [:]
    for shard in 0..<ContentTable.shardCount {
      catalog.contents.forEach(shard: shard) { places[ContentTable.location(ofWord: $0)] = .some(nil) }
    }
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) { places[$0.location] = $0.hash(shard: shard) }
    }
    let ordered = places.keys.sorted { $0.bits < $1.bits }
    let total = locked { catalog.segments.segments.reduce(0) { $0 + ($1?.tail ?? 0) } }
    for location in ordered {
      guard let pin = pin(location, places[location] ?? nil) else { continue }
      defer { pin.release() }
      try check(location, key: places[location] ?? nil, &report)
      progress?(min(report.byteCount, total), total)
    }
    verifyFiles(&report)
    return report
  }

  /// Nil when the record has gone meanwhile.
  private func pin(_ location: Location, _ hash: KeyHash?) -> Pin? {
    if let hash {
      return catalog.keys.withEntry(hash, location) { _ in catalog.segments.pin(location.slot) }
    }
    // A payload without a key of its own: the segment cannot go while the commit lock is held.
    return locked { catalog.segments.segments[location.slot].map { _ in catalog.segments.pin(location.slot) } }
  }

  private func check(_ location: Location, key hash: KeyHash?, _ report: inout VerificationReport) throws(StoreError) {
    var key: CacheKey?
    let outcome = check(location, readsPayload: true) { view in
      key = view.key
      return true
    }
    report.recordCount += 1
    switch outcome {
    case .unavailable(let error): throw .system(error)
    case .intact(let header, let bytesRead):
      report.byteCount += bytesRead
      if !header.carriesPayload, locked({ catalog.payloadLocation(of: header) }) == nil {
        note("the payload that it shares is gone", location, key, &report)
      }
    case .damaged(let reason):
      // It may have been removed while it was read.
      if let hash, !catalog.keys.find(hash, location) { return }
      note(reason, location, key, &report)
    }
  }

  private func note(_ reason: String, _ location: Location, _ key: CacheKey?, _ report: inout VerificationReport) {
    let name = SegmentHeader.fileName(catalog.segments.id(location.slot))
    let problem = VerificationReport.Problem(
      file: "\(CacheFormat.segmentsFolder)/\(name)", offset: location.offset, key: key, reason: reason)
    if isFromBefore(location) || (isReadOnly && !catalog.segments.isVouched(location) && lastOpen.kind != .clean) {
      report.lost.append(problem)
    } else {
      report.damaged.append(problem)
    }
  }

  /// The files that are not segments, and the segments' own heads.
  private func verifyFiles(_ report: inout VerificationReport) {
    func problem(_ file: String, _ offset: Int, _ reason: String) {
      report.damaged.append(.init(file: file, offset: offset, key: nil, reason: reason))
    }
    // A sealed segment in which nothing lives is about to go, and its head is of no more interest.
    let segments = locked {
      catalog.segments.segments.compactMap { $0 }.filter {
        $0.state != .retired && ($0.liveCount > 0 || $0.state != .sealed)
      }
    }
    for segment in segments {
      let name = "\(CacheFormat.segmentsFolder)/\(segment.fileName)"
      let bytes = (try? segment.storage?.readable().read(0..<SegmentHeader.byteCount)) ?? []
      let header = bytes.withUnsafeBytes { SegmentHeader($0) }
      if header?.store != identity.store || header?.segment != segment.id {
        problem(name, 0, "the segment's head fails its check")
      }
    }
    // A store whose making was cut short has no STORE yet, which is no damage: nothing was ever put into it.
    let hasNeverHeldAnything = lastOpen.kind == .created || catalog.nextSegment == 1
    if isReadOnly, hasNeverHeldAnything, (try? folders.root.openFile(CacheFormat.storeFile, .readOnly)) == nil {
      return
    }
    let store = (try? folders.root.openFile(CacheFormat.storeFile, .readOnly).readAll()) ?? []
    for offset in [0, StoreIdentity.secondCopy] {
      let isWhole = store.withUnsafeBytes { bytes in
        guard offset + StoreIdentity.byteCount <= bytes.count else { return false }
        if case .valid = StoreIdentity.read(UnsafeRawBufferPointer(rebasing: bytes[offset...])) { return true }
        return false
      }
      if !isWhole { problem(CacheFormat.storeFile, offset, "a copy of the store's identity fails its check") }
    }
    for note in lastOpen.notes where isReadOnly && lastOpen.kind != .clean { problem(".", 0, note) }
  }
}
