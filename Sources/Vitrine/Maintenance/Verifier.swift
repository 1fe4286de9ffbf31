/// Reads every live byte through the files and checks it. Restores records that only the log carries.
final class Verifier: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let checker: RecordChecker
  private let payloads: PayloadFinder

  init(_ context: StoreContext, gate: WriteGate, checker: RecordChecker, payloads: PayloadFinder) {
    self.context = context
    self.gate = gate
    self.checker = checker
    self.payloads = payloads
  }

  func verify(progress: ((Int, Int) -> Void)?) throws(StoreError) -> VerificationReport {
    if gate.isClosed { throw .closed }
    var report = VerificationReport()
    // Records are read by location, the order on the disk. A blob is read once, however many keys use it.
    var payloads: [Location: ContentHash] = [:]
    for shard in 0..<ContentTable.shardCount {
      catalog.contents.forEach(shard: shard) {
        payloads[ContentTable.location(ofWord: $0)] = ContentTable.hash(ofWord: $0, shard: shard)
      }
    }
    var places: [(location: Location, needed: Needed)] = []
    for shard in 0..<KeyTable.shardCount {
      catalog.keys.forEach(shard: shard) {
        payloads[$0.location] = nil
        places.append(($0.location, .key($0.hash(shard: shard))))
      }
    }
    for (location, content) in payloads { places.append((location, .payload(content))) }
    places.sort { $0.location.bits < $1.location.bits }
    var wrong: [Location: Wrong] = [:]
    let total = commitLock.withLock { held in
      held.state.index.segments.all.reduce(0) { $0 + ($1.map { held.state[$0].fill.tail } ?? 0) }
    }
    for (location, needed) in places {
      guard let pin = pin(location, needed) else { continue }
      defer { pin.release() }
      if let found = try check(location, needed, &report) { wrong[location] = found }
      progress?(min(report.byteCount, total), total)
    }
    name(wrong, &report)
    verifyHeads(&report)
    verifyFiles(&report)
    return report
  }

  /// The reason why a record is needed: its key, or a payload that other keys share after its own key was removed.
  private enum Needed {
    case key(KeyHash)
    case payload(ContentHash)
  }

  /// Pins the record's segment. Returns nil if the record is not needed any more.
  private func pin(_ location: Location, _ needed: Needed) -> Pin? {
    if case .key(let hash) = needed {
      return catalog.keys.withEntry(hash, location) { _ in catalog.segments.pin(location.slot) }
    }
    // No segment is removed while the commit lock is held.
    return commitLock.withLock { held in
      isStillThere(location, needed, held) ? catalog.segments.pin(location.slot) : nil
    }
  }

  /// Whether the record is still needed: not removed, evicted or moved since.
  private func isStillThere(
    _ location: Location, _ needed: Needed, _ held: borrowing CommitLock.Held
  ) -> Bool {
    switch needed {
    case .key(let hash): catalog.keys.find(hash, location)
    case .payload(let content): catalog.contents.count(content, location) > 0
    }
  }

  private struct Wrong {
    let reason: String
    /// The key of the record; nil if only other keys need the record, or if its key is unknown.
    let key: CacheKey?
    /// Whether the keys that share the payload have lost it too.
    var concernsSharers = true
  }

  private func check(
    _ location: Location, _ needed: Needed, _ report: inout VerificationReport
  ) throws(StoreError) -> Wrong? {
    var key: CacheKey?
    var isOther = false
    let outcome = checker.check(location, readsPayload: true) { view in
      if case .key(let hash) = needed { isOther = catalog.hash(of: view).stored != hash }
      if !isOther { key = view.key }
      return !isOther
    }
    report.recordCount += 1
    switch outcome {
    case .unavailable(let error): throw .system(error)
    case .intact(let header, let bytesRead):
      report.byteCount += bytesRead
      guard !header.carriesPayload,
        commitLock.withLock({ held in !hasPayload(of: header) && isStillThere(location, needed, held) })
      else { return nil }
      do throws(SystemError) {
        // A payload that only the log carries is written to its segment by this call.
        guard let (_, pin) = try payloads.pinPayload(of: header, checks: true) else {
          return Wrong(reason: "the payload that it shares is gone", key: key)
        }
        pin.release()
        return nil
      } catch {
        throw .system(error)
      }
    case .damaged(let reason):
      guard commitLock.withLock({ held in isStillThere(location, needed, held) }) else { return nil }
      // The record's own key may have another record by now.
      if case .payload = needed { key = nil }
      guard isOther else { return Wrong(reason: reason, key: key) }
      // The record belongs to another key, so its payload, which others may share, is not checked yet.
      return switch checker.check(location, readsPayload: true) {
      case .intact: Wrong(reason: reason, key: nil, concernsSharers: false)
      case .damaged(let reason): Wrong(reason: reason, key: nil)
      case .unavailable(let error): throw .system(error)
      }
    }
  }

  /// Whether the index lists a record that carries the payload of `reference`. A forged reference may name a payload
  /// of other properties, which no get returns.
  private func hasPayload(of reference: RecordHeader) -> Bool {
    let location = catalog.payloadLocation(of: reference) { location in
      catalog.record(at: location, checks: true).flatMap { $0.header.isPayload(of: reference) ? $0 : nil }
    }
    return location != nil
  }

  /// Reports each problem, in disk order, under all keys that need the record. Searches the keys only if there is a
  /// problem.
  private func name(_ wrong: [Location: Wrong], _ report: inout VerificationReport) {
    if wrong.isEmpty { return }
    var sharers: [Location: [CacheKey]] = [:]
    for shard in 0..<KeyTable.shardCount {
      for entry in catalog.keys.copy(shard: shard) {
        guard let pin = pin(entry.location, .key(entry.hash(shard: shard))) else { continue }
        defer { pin.release() }
        guard let record = catalog.record(at: entry.location, checks: true), !record.header.carriesPayload,
          let payload = commitLock.withLock({ held in catalog.payloadLocation(of: record.header) }),
          wrong[payload]?.concernsSharers == true
        else { continue }
        sharers[payload, default: []].append(record.key)
      }
    }
    for (location, wrong) in wrong.sorted(by: { $0.key.bits < $1.key.bits }) {
      let keys = (wrong.key.map { [$0] } ?? []) + (sharers[location] ?? []).sorted()
      if keys.isEmpty { note(wrong.reason, location, nil, &report) }
      for key in keys { note(wrong.reason, location, key, &report) }
    }
  }

  private func note(_ reason: String, _ location: Location, _ key: CacheKey?, _ report: inout VerificationReport) {
    let name = SegmentHeader.fileName(catalog.segments.id(location.slot))
    let problem = VerificationReport.Problem(
      file: "\(CacheFormat.segmentsFolder)/\(name)", offset: location.offset, key: key, reason: reason)
    if checker.isFromBefore(location)
      || (gate.isReadOnly && !catalog.segments.isVouched(location) && lastOpen.kind != .clean)
    {
      report.lost.append(problem)
    } else {
      report.damaged.append(problem)
    }
  }

  /// Checks the segments' heads. Holds one segment at a time, because the bytes of held segments cannot be freed for
  /// calls that need room.
  private func verifyHeads(_ report: inout VerificationReport) {
    for slot in 0..<commitLock.withLock({ held in held.state.index.segments.all.count }) {
      // A sealed segment without live records will be retired soon, so its head does not matter.
      let found = commitLock.withLock { held -> Segment? in
        guard let segment = held.state.index.segments.all[slot] else { return nil }
        return held.state[segment].state != .retired
          && (held.state[segment].live.count > 0 || held.state[segment].state != .sealed) ? segment : nil
      }
      guard let segment = found else { continue }
      let bytes = (try? segment.storage?.readable().read(0..<SegmentHeader.byteCount)) ?? []
      let header = bytes.withUnsafeBytes { SegmentHeader($0) }
      if header?.store != identity.store || header?.segment != segment.id,
        commitLock.withLock({ held in held.state[segment].state != .retired })
      {
        report.damaged.append(
          .init(
            file: "\(CacheFormat.segmentsFolder)/\(segment.fileName)", offset: 0, key: nil,
            reason: "the segment's head fails its check"))
      }
    }
  }

  /// Checks the files that are not segments.
  private func verifyFiles(_ report: inout VerificationReport) {
    func problem(_ file: String, _ offset: Int, _ reason: String) {
      report.damaged.append(.init(file: file, offset: offset, key: nil, reason: reason))
    }
    // A store whose creation was interrupted has no STORE yet. That is not damage, because no value was ever put.
    let hasNeverHeldAnything =
      lastOpen.kind == .created || commitLock.withLock { held in held.state.index.nextSegment == 1 }
    if gate.isReadOnly, hasNeverHeldAnything, (try? folders.root.openFile(CacheFormat.storeFile, .readOnly)) == nil {
      return
    }
    // The lock keeps other threads from changing the budgets meanwhile.
    let copies = upkeepLock.withLock { _ in
      (try? folders.root.openFile(CacheFormat.storeFile, .readOnly)).map(StoreIdentity.copies(in:))
    }
    for (index, offset) in [0, StoreIdentity.secondCopy].enumerated() where copies?[index].isValid != true {
      problem(CacheFormat.storeFile, offset, "a copy of the store's identity fails its check")
    }
    for note in lastOpen.notes where gate.isReadOnly && lastOpen.kind != .clean { problem(".", 0, note) }
  }
}
