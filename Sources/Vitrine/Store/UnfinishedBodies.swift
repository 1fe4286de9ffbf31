/// All unfinished bodies of a store, and who of them may have room.
///
/// Together they hold at most an eighth of the budget, however many stall; but the one that got room first may always
/// have what it needs, so that two which grow cannot wait for each other for ever. What counts is what cannot be given
/// back: a body's room, and, once its segment is closed to others, all of that segment. Ordinary puts hold room for
/// microseconds and are neither counted nor made to wait. Guarded by the store's commit lock.
struct UnfinishedBodies {
  private var bodies: [UInt64: UnfinishedBody] = [:]
  /// By the hash of their URLs, so that a removal finds those of its key without looking at all.
  private var byURL: [UInt64: [UInt64: UnfinishedBody]] = [:]
  private var nextNumber: UInt64 = 1

  mutating func begin(_ target: BodyTarget, _ hash: KeyHash, length: Int?, isAnybodys: Bool) -> UnfinishedBody {
    defer { nextNumber += 1 }
    let body = UnfinishedBody(target, hash, length: length, number: nextNumber, isAnybodys: isAnybodys)
    bodies[body.number] = body
    byURL[hash.urlBits, default: [:]][body.number] = body
    return body
  }

  mutating func end(_ body: UnfinishedBody) {
    bodies[body.number] = nil
    byURL[body.hash.urlBits]?[body.number] = nil
    if byURL[body.hash.urlBits]?.isEmpty == true { byURL[body.hash.urlBits] = nil }
  }

  var isEmpty: Bool { bodies.isEmpty }
  var all: some Collection<UnfinishedBody> { bodies.values }

  // MARK: Removals

  /// A removal counts against every body that was begun before it: what was asked to go does not come back with a commit.
  mutating func abort(_ body: UnfinishedBody) {
    if bodies[body.number] != nil { body.isAborted = true }
  }

  mutating func abortAll() {
    for body in Array(bodies.values) { abort(body) }
  }

  /// Aborts the bodies of a key, or those of all styles of a URL.
  mutating func abort(_ hash: KeyHash, url: UnsafeRawBufferPointer, style: UnsafeRawBufferPointer?) {
    for body in candidates(hash)
    where body.has(url: url) && style.map({ body.has(style: $0) }) ?? true {
      abort(body)
    }
  }

  /// The bodies whose URL has this hash.
  func candidates(_ hash: KeyHash) -> [UnfinishedBody] { byURL[hash.urlBits].map { Array($0.values) } ?? [] }

  // MARK: Room

  private var holders: some Collection<UnfinishedBody> { bodies.values.lazy.filter { $0.heldByteCount > 0 } }

  /// O(bodies).
  var heldByteCount: Int {
    var closing: Set<Int> = []
    var held = 0
    for body in holders {
      if let segment = body.room?.segment, segment.state != .open {
        if closing.insert(segment.slot).inserted { held += segment.byteCount }
      } else {
        held += body.heldByteCount
      }
    }
    return held
  }

  /// Enters `byteCount` more for a body; false where the cap forbids it.
  mutating func admit(_ body: UnfinishedBody, _ byteCount: Int, cap: Int) -> Bool {
    let isFirst = holders.allSatisfy { $0 === body || $0.turn ?? .max > body.turn ?? .max }
    guard isFirst || heldByteCount + byteCount <= cap else { return false }
    if body.turn == nil {
      body.turn = nextNumber
      nextNumber += 1
    }
    body.heldByteCount += byteCount
    return true
  }

  /// Takes back what was admitted and could not be had.
  func dismiss(_ body: UnfinishedBody, _ byteCount: Int) { body.heldByteCount -= byteCount }

  /// Whether only the calling thread could make room, which it will not while it waits.
  var areOwn: Bool { holders.allSatisfy(\.isOwn) }
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

  /// Aborts the bodies that `isWanted`, which is asked under no lock. Before a removal looks at the entries: a body that
  /// was committed meanwhile is an entry by then.
  func abortBodies(where isWanted: (UnfinishedBody, _ receivedByteCount: Int) -> Bool) throws(StoreError) {
    let bodies = locked { unfinished.isEmpty ? [] : unfinished.all.map { ($0, $0.receivedByteCount) } }
    let wanted = bodies.filter(isWanted)
    if wanted.isEmpty { return }
    try locked { () throws(StoreError) in
      try requireWritable()
      for (body, _) in wanted { unfinished.abort(body) }
    }
  }

  /// Aborts the bodies of the keys that the operations remove. Under the commit lock, in the hold in which the removal
  /// happens, so that no commit comes between the two.
  func abortBodies(of operations: [PendingOperation]) {
    if unfinished.isEmpty { return }
    for operation in operations where operation.abortsBodies {
      if case .removeStyles = operation.kind {
        unfinished.abort(operation.hash, url: operation.url, style: nil)
      } else {
        unfinished.abort(operation.hash, url: operation.url, style: operation.style)
      }
    }
  }

  /// Committed or abandoned: its room is given back, or dead. A forked child leaves the parent's alone.
  func end(_ body: UnfinishedBody) {
    if isForkedChild { return }
    let (staged, isDead) = locked { () -> (StagedFile?, Bool) in
      let segment = body.room?.segment
      segment?.endLending()
      body.room = nil
      defer { body.stagedFile = nil }
      unfinished.end(body)
      return (body.stagedFile, segment?.isDead ?? false)
    }
    if let staged { drop(staged) }
    if isDead { wake() }
  }

  /// Enters `byteCount` more for a body under the cap, waiting for others to end. False where that would mean to wait and
  /// `waits` forbids it.
  func admit(_ body: UnfinishedBody, _ byteCount: Int, waits: Bool) throws(StoreError) -> Bool {
    let pause = 2
    var waited = 0
    while true {
      let isAdmitted = try locked { () throws(StoreError) in
        try requireWritable()
        if body.isAborted { throw .aborted }
        if unfinished.admit(body, byteCount, cap: ledger.budget / 8) { return true }
        if waits, waited >= StoreCore.longestWaitMilliseconds || unfinished.areOwn { throw .noSpace }
        return false
      }
      if isAdmitted || !waits { return isAdmitted }
      environment.clock.sleep(milliseconds: pause)
      waited += pause
    }
  }

  /// Lends room for a payload of known length to a body. False where that would mean to wait and `waits` forbids it.
  func lend(_ target: BodyTarget, byteCount: Int, to body: UnfinishedBody, waits: Bool) throws(StoreError) -> Bool {
    let (stream, headByteCount) = try target.withPut(self) { put in
      (put.stream, put.headByteCount(storedByteCount: byteCount))
    }
    guard try admit(body, headByteCount + byteCount, waits: waits) else { return false }
    do throws(StoreError) {
      let (reservation, _) = try reserve(
        stream, headByteCount: headByteCount, payloadByteCount: byteCount, pageAligned: target.options.isPageAligned)
      locked {
        reservation.segment.lend(reservation)
        body.room = reservation
      }
    } catch {
      locked { unfinished.dismiss(body, headByteCount + byteCount) }
      throw error
    }
    return true
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
