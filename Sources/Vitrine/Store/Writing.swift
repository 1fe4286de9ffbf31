import CVitrineSystem

// The way of a put: key hash, digest and compression outside any lock; the same blob already stored? share it; a
// reservation; fill it; then, under the commit lock, a frame and the index.
extension StoreCore {
  // MARK: Preparing

  /// Checks the arguments and does all that needs no lock.
  func prepare(
    _ value: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, style: Style, styleBytes: UnsafeRawBufferPointer,
    metadata: UnsafeRawBufferPointer, options: PutOptions, compresses: Bool = true
  ) throws(StoreError) -> PreparedPut {
    guard url.count <= RecordHeader.largestURL else {
      throw .invalidArgument("a URL has at most \(RecordHeader.largestURL) bytes, not \(url.count)")
    }
    guard metadata.count <= RecordHeader.largestMetadata else {
      throw .invalidArgument("metadata has at most \(RecordHeader.largestMetadata) bytes, not \(metadata.count)")
    }
    guard value.count <= RecordHeader.largestPayload else {
      throw .tooLarge(byteCount: value.count, limit: RecordHeader.largestPayload)
    }
    if let layout = options.layout, layout.byteCount != value.count {
      throw .invalidArgument("the layout wants \(layout.byteCount) bytes, not \(value.count)")
    }
    // The misses of the two tables pass while the bytes are looked at.
    let hash = catalog.hasher.key(url, styleTag: style.tag)
    catalog.keys.prefetch(hash)
    let digest = environment.digest?(value) ?? Digest(of: value)
    catalog.contents.prefetch(catalog.hasher.content(digest))
    var stored = value
    var encoding = options.layout == nil ? Encoding.plain : .bitmap
    let level = identity.compressionLevel
    if compresses, encoding == .plain, level > 0, Compressibility.isWorthTrying(value),
      let compressed = ThreadContext.current.compress(value, level: level)
    {
      stored = compressed
      encoding = .zstd
    }
    // 0 stands for never, so that moment itself is one millisecond later.
    let expiration = options.expirationMilliseconds.map { $0 == 0 ? 1 : $0 } ?? 0
    return PreparedPut(
      hash: hash, url: url, style: styleBytes, metadata: metadata,
      value: value, logicalByteCount: value.count, stored: stored, digest: digest, encoding: encoding,
      layout: options.layout,
      expiration: expiration, isPageAligned: options.isPageAligned)
  }

  // MARK: Putting

  func put(
    _ value: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, style: Style, options: PutOptions
  ) throws(StoreError) {
    let styleBytes = style.bytes.span.bytes
    let metadata = options.metadata.span.bytes
    try styleBytes.withUnsafeBytes { styleBytes throws(StoreError) in
      try metadata.withUnsafeBytes { metadata throws(StoreError) in
        try put(
          prepare(
            value, url: url, style: style, styleBytes: styleBytes, metadata: metadata, options: options),
          durability: options.durability)
      }
    }
  }

  func put(_ put: PreparedPut, durability: Durability?) throws(StoreError) {
    try requireWritable()
    let durability = durability ?? identity.durability
    // Another thread may store the same bytes, or take the shared ones away, between looking and committing.
    while true {
      let pending = try place(put, durability: durability)
      if let committed = try commit([pending], moreKeys: 1) {
        bytesPut.wrappingAdd(put.logicalByteCount, ordering: .relaxed)
        if durability == .synced { try acknowledgeSynced(committed.sequence) }
        return
      }
    }
  }

  /// Reserves room, fills it, and makes it durable where the frame will not carry it.
  func place(_ put: PreparedPut, durability: Durability) throws(StoreError) -> PendingOperation {
    let (shared, others) = findShared(put)
    var pending = try place(
      put, sharing: shared, durability: durability, written: environment.clock.wallMilliseconds())
    pending.others = others
    return pending
  }

  func place(
    _ put: PreparedPut, sharing shared: Shared?, durability: Durability, written: Int64
  ) throws(StoreError) -> PendingOperation {
    let payload = shared == nil ? put.stored : UnsafeRawBufferPointer(start: nil, count: 0)
    let headByteCount = put.headByteCount(isReference: shared != nil)
    let (reservation, sequence) = try reserve(
      put.stream, headByteCount: headByteCount, payloadByteCount: payload.count,
      pageAligned: put.isPageAligned && shared == nil)
    let head = ThreadContext.current.head
    head.removeAll()
    put.head(
      sequence: sequence, origin: shared?.origin ?? sequence,
      storedByteCount: shared?.storedByteCount ?? put.stored.count, encoding: shared?.encoding ?? put.encoding,
      isReference: shared != nil, written: written,
      payloadOffset: reservation.payloadOffset, seed: catalog.segments.seed(reservation.location), into: head)
    try fill(reservation, head.bytes, payload)
    var inline: [UInt8]?
    if durability == .synced {
      if head.count + payload.count <= largestInline {
        inline = Array(head.bytes) + Array(payload)
      } else {
        try sync(reservation.segment)
      }
      if let shared { try makeDurable(payloadAt: shared.location) }
    }
    return PendingOperation(
      hash: put.hash, url: put.url, style: put.style, digest: put.digest, logicalByteCount: put.logicalByteCount,
      recordSequence: sequence,
      kind: .put(
        reservation, headUnits: Unit.count(head.count), payloadUnits: Unit.count(payload.count), shared: shared,
        inline: inline))
  }

  /// The most bytes of a record that a frame carries; larger ones are synced in their segment.
  var largestInline: Int { min(256 << 10, (wal?.capacity ?? 0) / 8) }

  private func fill(
    _ reservation: Reservation, _ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
  ) throws(StoreError) {
    var failed: SystemError?
    do throws(SystemError) {
      guard let file = reservation.segment.file else {
        throw SystemError(code: 9, operation: "write", path: reservation.segment.fileName)
      }
      try file.write(head, payload, at: reservation.offset)
    } catch {
      failed = error
    }
    locked {
      reservation.segment.filled(reservation)
      if failed != nil { reservation.segment.pendingCount -= 1 }
    }
    bytesWritten.wrappingAdd(head.count + payload.count, ordering: .relaxed)
    if let failed { throw writeError(failed) }
  }

  // MARK: Committing

  /// Makes the operations happen, together: one frame, then the index. Answers the frame's number, or nil when a put
  /// has to be placed again because what it shares has gone or what it carries is shared by now.
  ///
  /// The operations are of different keys: what one does never depends on another of them.
  func commit(_ operations: [PendingOperation], moreKeys: Int) throws(StoreError) -> Committed? {
    var bound = 256
    for operation in operations { bound += operation.largestEncoding }
    do throws(StoreError) {
      while true {
        switch try commitOnce(operations, bound) {
        case .done(let committed):
          return committed
        case .placeAgain:
          locked { settle(operations) }
          return nil
        case .needsCheckpoint:
          try checkpoint()
        case .needsRoomForIndex:
          try growCheckpoints(moreKeys: moreKeys)
        case .exceedsLog:
          if let committed = try commitByCheckpoint(operations) { return committed }
        }
      }
    } catch {
      locked { settle(operations) }
      throw error
    }
  }

  /// The reservations are no longer on their way: committed, or dead room.
  func settle(_ operations: [PendingOperation]) {
    for operation in operations {
      if case .put(let reservation, _, _, _, _) = operation.kind { reservation.segment.pendingCount -= 1 }
    }
  }

  struct Committed {
    /// 0 for a commit that a checkpoint has made durable.
    let sequence: UInt64
    /// Keys that were there and are no longer.
    let removedCount: Int
  }

  private enum CommitOutcome {
    case done(Committed)
    case placeAgain
    case needsCheckpoint
    case needsRoomForIndex
    case exceedsLog
  }

  private func commitOnce(_ operations: [PendingOperation], _ bound: Int) throws(StoreError) -> CommitOutcome {
    try locked { () throws(StoreError) in
      try requireWritable()
      guard let wal else { throw .readOnly }
      if let outcome = try obstacle(operations) { return outcome }
      if bound > wal.capacity { return .exceedsLog }
      guard try makeRoom(bound) else { return .needsCheckpoint }
      let (changes, removedCount) = changes(of: operations)
      // Nothing to do counts as done when everything before it is.
      var sequence = wal.nextSequence - 1
      if !changes.isEmpty {
        Frame.begin(frame)
        encode(changes, of: operations)
        sequence = try append(changes.count)
        noteInline(operations)
        try apply(changes, sequence: sequence)
      }
      settle(operations)
      return .done(Committed(sequence: sequence, removedCount: removedCount))
    }
  }

  /// A batch larger than the log commits by a checkpoint (rule 8): no frame may come between it and the changes, so
  /// everybody waits until it is durable. Nil when something has to be done first.
  private func commitByCheckpoint(_ operations: [PendingOperation]) throws(StoreError) -> Committed? {
    upkeepLock.lock()
    defer { upkeepLock.unlock() }
    try prepareCheckpoint()
    return try locked { () throws(StoreError) in
      try requireWritable()
      guard let wal else { throw .readOnly }
      if try obstacle(operations) != nil { return nil }
      let (changes, removedCount) = changes(of: operations)
      try apply(changes, sequence: wal.nextSequence)
      try writeCheckpointLocked(consumingSequence: true)
      settle(operations)
      return Committed(sequence: 0, removedCount: removedCount)
    }
  }

  /// What keeps the operations from being committed now.
  private func obstacle(_ operations: [PendingOperation]) throws(StoreError) -> CommitOutcome? {
    let puts = operations.count { if case .put = $0.kind { true } else { false } }
    guard puts > 0 else { return nil }
    if !isStillRight(operations) { return .placeAgain }
    return try admitsEntries(operations, puts) ? nil : .needsRoomForIndex
  }

  /// What the operations come to, and how many keys will go.
  private func changes(of operations: [PendingOperation]) -> (changes: [Change], removedCount: Int) {
    var changes: [Change] = []
    changes.reserveCapacity(operations.count)
    var removedCount = 0
    for operation in operations {
      let (found, damaged) = find(operation.hash, operation.url, operation.style)
      for location in damaged { changes.append(.remove(operation.hash, catalog.displaced(at: location))) }
      let displaced = found.map { catalog.displaced(at: $0) }
      switch operation.kind {
      case .remove:
        guard let displaced else { continue }
        changes.append(.remove(operation.hash, displaced))
        removedCount += 1
      case .put(let reservation, let headUnits, let payloadUnits, let shared, _):
        changes.append(
          .put(
            Change.Put(
              hash: operation.hash, location: reservation.location, headUnits: headUnits,
              payloadUnits: payloadUnits, logicalByteCount: operation.logicalByteCount,
              content: catalog.hasher.content(operation.digest),
              contentLocation: shared?.location ?? reservation.location, displaced: displaced)))
      }
    }
    return (changes, removedCount)
  }

  /// Puts come in the operations' order, so the records that the frame carries are found by walking along.
  private func encode(_ changes: [Change], of operations: [PendingOperation]) {
    var next = 0
    for change in changes {
      guard case .put(let put) = change else {
        change.encode(into: frame)
        continue
      }
      while operations[next].location != put.location { next += 1 }
      if case .put(_, _, _, _, let inline?) = operations[next].kind {
        inline.withUnsafeBytes { bytes in
          change.encode(into: frame, record: (bytes, UnsafeRawBufferPointer(start: nil, count: 0)))
        }
      } else {
        change.encode(into: frame)
      }
    }
  }

  private func noteInline(_ operations: [PendingOperation]) {
    for operation in operations {
      if case .put(let reservation, _, _, _, .some) = operation.kind {
        wal?.noteInline(segment: reservation.segment.id, end: reservation.endOffset)
      }
    }
  }

  /// An index that cannot follow the log, for want of memory, ends all writing: the next opening replays the log.
  func apply(_ changes: [Change], sequence: UInt64) throws(StoreError) {
    if !catalog.apply(changes, sequence: sequence, isChecked: true) {
      throw fail(SystemError(code: 12, operation: "enter", path: "index"))
    }
  }

  /// Writes the frame that was begun. Under the commit lock.
  func append(_ changeCount: Int) throws(StoreError) -> UInt64 {
    guard let wal else { throw .readOnly }
    do throws(SystemError) {
      return try wal.append(frame, changeCount: changeCount)
    } catch {
      throw fail(error)
    }
  }

  /// Writes a frame of changes to segments. Under the commit lock; false when the log has no room for it.
  func record(_ changes: [Change]) throws(StoreError) -> Bool {
    guard try makeRoom(Frame.headerByteCount + changes.count * 128) else { return false }
    Frame.begin(frame)
    for change in changes { change.encode(into: frame) }
    let sequence = try append(changes.count)
    try apply(changes, sequence: sequence)
    return true
  }

  /// Room for a frame in the active log file, or in the next one. One file stays free for the next recovery (rule 8),
  /// so with only that one left the answer is false: a checkpoint has to free others first.
  private func makeRoom(_ byteCount: Int) throws(StoreError) -> Bool {
    guard let wal else { throw .readOnly }
    if wal.room >= byteCount { return true }
    guard wal.freeCount >= 2 else { return false }
    do throws(SystemError) {
      guard try wal.rotate(cut: wal.position) else { return false }
    } catch {
      throw fail(error)
    }
    wantsCheckpoint.store(true, ordering: .relaxed)
    wake()
    return wal.room >= byteCount
  }

  /// Whether what the puts share is still there, and what they carry still new.
  private func isStillRight(_ operations: [PendingOperation]) -> Bool {
    for operation in operations {
      guard case .put(_, _, _, let shared, _) = operation.kind else { continue }
      if let expected = operation.expected, find(operation) != expected { return false }
      if let shared {
        // By its number too: the place may have been given to another record meanwhile.
        if !operations.contains(where: { $0.location == shared.location }),
          catalog.contents.count(catalog.hasher.content(operation.digest), shared.location) == 0
            || catalog.record(at: shared.location, checks: false)?.header.origin != shared.origin
        {
          return false
        }
      } else if isSharedByNow(operation) {
        return false
      }
    }
    return true
  }

  /// Whether a blob with the same digest came since the put was placed: one that was not looked at then. Numbers do not
  /// tell, since an earlier one may be committed later.
  private func isSharedByNow(_ operation: PendingOperation) -> Bool {
    var isShared = false
    catalog.contents.candidates(catalog.hasher.content(operation.digest)) { location in
      guard let header = catalog.record(at: location, checks: false)?.header,
        header.digest == operation.digest, !operation.others.contains(location)
      else { return true }
      isShared = true
      return false
    }
    return isShared
  }

  /// Whether the entry budget and the checkpoint files have room for what is new. False when the files must grow.
  private func admitsEntries(_ operations: [PendingOperation], _ puts: Int) throws(StoreError) -> Bool {
    if identity.entryBudget > 0, catalog.keyCount + puts > identity.entryBudget {
      // Overwriting is always admitted; only then is it worth finding out which puts are new.
      var new = 0
      for operation in operations {
        if case .put = operation.kind, find(operation) == nil { new += 1 }
      }
      if catalog.keyCount + new > identity.entryBudget { throw .noSpace }
    }
    return catalog.checkpointByteCount(moreKeys: puts) <= checkpointByteCount
  }

  /// The live record of the operation's key. Under the commit lock, so nothing it looks at can go.
  private func find(_ operation: PendingOperation) -> Location? {
    find(operation.hash, operation.url, operation.style).location
  }

  /// The live record of a key, and the entries met on the way whose records cannot be read.
  func find(
    _ hash: KeyHash, _ url: UnsafeRawBufferPointer, _ style: UnsafeRawBufferPointer
  ) -> (location: Location?, damaged: [Location]) {
    var damaged: [Location] = []
    var skip = 0
    while let slot = catalog.keys.find(hash, skip: skip, counts: false, { $0 }) {
      skip += 1
      let isChecked = slot.flags.contains(.checked)
      if let view = catalog.record(at: slot.location, checks: !isChecked) {
        if view.has(url: url, style: style) { return (slot.location, damaged) }
      } else if let file = catalog.segments.segment(slot.location.slot)?.file,
        writeBack(slot.location, into: file),
        let view = catalog.record(at: slot.location, checks: true)
      {
        if view.has(url: url, style: style) { return (slot.location, damaged) }
      } else {
        damaged.append(slot.location)
      }
    }
    return (nil, damaged)
  }

  // MARK: Removing

  /// Removes a damaged entry. False when it had gone already.
  func removeDamaged(_ hash: KeyHash, _ location: Location) throws(StoreError) -> Bool {
    while true {
      let done: Bool? = try locked { () throws(StoreError) in
        try requireWritable()
        guard catalog.keys.find(hash, location) else { return false }
        let displaced = catalog.displaced(at: location)
        return try record([.remove(hash, displaced)]) ? true : nil
      }
      if let done { return done }
      try checkpoint()
    }
  }

  /// Removes every entry.
  func removeAll(durability: Durability?) throws(StoreError) {
    try requireWritable()
    var sequence: UInt64 = 0
    while true {
      let isDone = try locked { () throws(StoreError) in
        try requireWritable()
        var changes: [Change] = [.removeAll]
        for case let segment? in openSegments {
          changes.append(.segmentSealed(slot: segment.slot, byteCount: segment.byteCount))
        }
        guard try record(changes) else { return false }
        // The log's own copies are of no more use; their places will be given anew.
        openSegments = Array(repeating: nil, count: openSegments.count)
        inline.withLock { $0.removeAll() }
        sequence = (wal?.nextSequence ?? 1) - 1
        return true
      }
      if isDone { break }
      try checkpoint()
    }
    if (durability ?? identity.durability) == .synced { try acknowledgeSynced(sequence) }
    wake()
  }

  // MARK: Durability

  /// Waits until the frame is durable. 0 stands for a change that a checkpoint has made durable.
  func acknowledgeSynced(_ sequence: UInt64) throws(StoreError) {
    guard let wal else { throw .readOnly }
    if sequence > 0 {
      do throws(SystemError) { try wal.makeDurable(below: sequence + 1) } catch { throw fail(error) }
    }
    try requireNamed()
  }

  /// Rule 3: a durable reference needs a durable payload.
  func makeDurable(payloadAt location: Location) throws(StoreError) {
    if catalog.segments.isVouched(location) { return }
    guard let segment = catalog.segments.segment(location.slot) else { return }
    try sync(segment)
  }

  func sync(_ segment: Segment) throws(StoreError) {
    guard let file = segment.file else { return }
    do throws(SystemError) { try file.sync() } catch { throw fail(error) }
  }
}

extension PendingOperation {
  var location: Location? {
    if case .put(let reservation, _, _, _, _) = kind { reservation.location } else { nil }
  }

  /// The most bytes that the operation takes in a frame.
  var largestEncoding: Int {
    if case .put(_, _, _, _, let inline?) = kind { 192 + roundUp(inline.count, to: 8) } else { 192 }
  }
}
