/// All unfinished bodies of a store, by their URLs, so that a removal finds those of its key without looking at all.
/// Guarded by the store's commit lock.
struct UnfinishedBodies {
  private var bodies: [UInt64: UnfinishedBody] = [:]
  /// By the hash of their URLs.
  private var byURL: [UInt64: [UInt64: UnfinishedBody]] = [:]
  private var nextNumber: UInt64 = 1

  mutating func begin(_ target: BodyTarget, _ hash: KeyHash, length: Int?, isAnybodys: Bool) -> UnfinishedBody {
    defer { nextNumber += 1 }
    let body = UnfinishedBody(target, hash, length: length, number: nextNumber, isAnybodys: isAnybodys)
    bodies[body.number] = body
    byURL[hash.urlBits, default: [:]][body.number] = body
    return body
  }

  /// False when it has ended before.
  mutating func end(_ body: UnfinishedBody) -> Bool {
    byURL[body.hash.urlBits]?[body.number] = nil
    if byURL[body.hash.urlBits]?.isEmpty == true { byURL[body.hash.urlBits] = nil }
    return bodies.removeValue(forKey: body.number) != nil
  }

  var isEmpty: Bool { bodies.isEmpty }
  var all: some Collection<UnfinishedBody> { bodies.values }

  /// The bodies whose URL has this hash.
  func candidates(_ hash: KeyHash) -> [UnfinishedBody] { byURL[hash.urlBits].map { Array($0.values) } ?? [] }

  func contains(_ body: UnfinishedBody) -> Bool { bodies[body.number] != nil }
}

extension StoreCore {
  /// `isAnybodys` when calls about it come from threads that nobody chose.
  func begin(_ target: BodyTarget, length: Int?, isAnybodys: Bool) throws(StoreError) -> UnfinishedBody {
    let hash = target.key.url.withUnsafeBytes { catalog.hasher.key($0, styleTag: target.key.style.tag) }
    return try locked { () throws(StoreError) in
      try requireWritable()
      return unfinished.begin(target, hash, length: length, isAnybodys: isAnybodys)
    }
  }

  /// Committed or abandoned: its room is given back, or dead, and may be another's. A forked child leaves the parent's alone.
  func end(_ body: UnfinishedBody) {
    if isForkedChild { return }
    let (staged, isDead) = locked { () -> (StagedFile?, Bool) in
      guard unfinished.end(body) else { return (nil, false) }
      admissions.end(body)
      let segment = body.room?.segment
      segment?.endLending()
      body.room = nil
      defer { body.stagedFile = nil }
      admitNext()
      return (body.stagedFile, segment?.isDead ?? false)
    }
    if let staged { drop(staged) }
    if isDead { wake() }
  }

  // MARK: Removals

  // A removal counts against every body that was begun before it, so no commit brings a removed key back.

  /// Aborts the bodies that `isWanted`, which is asked under no lock. Before a removal looks at the entries: a body that
  /// was committed meanwhile is an entry by then.
  func abortBodies(where isWanted: (UnfinishedBody, _ receivedByteCount: Int) -> Bool) throws(StoreError) {
    let bodies = locked { unfinished.isEmpty ? [] : unfinished.all.map { ($0, $0.receivedByteCount) } }
    let wanted = bodies.filter(isWanted)
    if wanted.isEmpty { return }
    try locked { () throws(StoreError) in
      try requireWritable()
      abort(wanted.map(\.0))
    }
  }

  /// Aborts the bodies of the keys that the operations remove. Under the commit lock, in the hold in which the removal
  /// happens, so that no commit comes between the two.
  func abortBodies(of operations: [PendingOperation]) {
    if unfinished.isEmpty { return }
    for operation in operations where operation.abortsBodies {
      var isOfAllStyles = false
      if case .removeStyles = operation.kind { isOfAllStyles = true }
      abort(
        unfinished.candidates(operation.hash).filter {
          $0.has(url: operation.url) && (isOfAllStyles || $0.has(style: operation.style))
        })
    }
  }

  /// Under the commit lock.
  func abortAllBodies() { abort(Array(unfinished.all)) }

  private func abort(_ bodies: [UnfinishedBody]) {
    if bodies.isEmpty { return }
    for body in bodies where unfinished.contains(body) {
      body.isAborted = true
      guard let waiter = body.waiter else { continue }
      admissions.withdraw(waiter)
      waiter.end(.refused(.aborted))
    }
    admitNext()
  }

  // MARK: Room in a segment

  /// Lends room for a payload of known length to a body; answers what to wait for when it may not wait itself.
  func lend(byteCount: Int, to body: UnfinishedBody, waits: Bool) throws(StoreError) -> RoomWaiter? {
    let (stream, headByteCount) = try body.target.withPut(self) { put in
      (put.stream, put.headByteCount(storedByteCount: byteCount))
    }
    let isAligned = body.target.options.isPageAligned
    let extent = largestExtent(headByteCount, byteCount, isAligned)
    let limit = locked { extent > segmentByteCount ? largestValue(overhead: extent - byteCount) : .max }
    if byteCount > limit { throw .tooLarge(byteCount: byteCount, limit: limit) }
    if let waiter = try admit(body, headByteCount + byteCount, waits: waits) { return waiter }
    do throws(StoreError) {
      let (reservation, _) = try reserve(
        stream, headByteCount: headByteCount, payloadByteCount: byteCount, pageAligned: isAligned)
      locked {
        reservation.segment.lend(reservation)
        admissions.lend(reservation, to: body)
      }
    } catch {
      dismiss(body, headByteCount + byteCount)
      throw error
    }
    return nil
  }

  /// Lent room whose payload is there is about to get its head: a number for the record, which is as new as its commit,
  /// and whether the segment has to be synced before a frame names it. The pending count is the commit's to settle.
  func takeBack(_ room: Reservation) throws(StoreError) -> (sequence: UInt64, isPassed: Bool) {
    try locked { () throws(StoreError) in
      try requireWritable()
      room.segment.pendingCount += 1
      return (takeRecordNumber(), room.segment.takeBack(room))
    }
  }
}
