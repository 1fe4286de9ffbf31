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
    if let duration = options.slidingExpirationMilliseconds, duration <= 0 || options.expirationMilliseconds != nil {
      throw .invalidArgument("a sliding expiry is a positive number of milliseconds, and excludes a fixed one")
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
    let expiration =
      options.slidingExpirationMilliseconds ?? options.expirationMilliseconds.map { $0 == 0 ? 1 : $0 } ?? 0
    var put = PreparedPut(
      hash: hash, url: url, style: styleBytes, metadata: metadata,
      value: value, logicalByteCount: value.count, stored: stored, digest: digest, encoding: encoding,
      layout: options.layout,
      expiration: expiration, isSliding: options.slidingExpirationMilliseconds != nil,
      isPageAligned: options.isPageAligned)
    switch options.source {
    case .automatic: put.followsOriginal = !Style.isOriginal(styleBytes, tag: style.tag)
    case .none: break
    case .named(let source):
      put.source = source
      put.isSourceNamed = true
    }
    return put
  }

  // MARK: Putting

  func put(
    _ value: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, style: Style, options: PutOptions
  ) throws(StoreError) {
    let styleBytes = style.bytes.span.bytes
    let metadata = options.metadata.span.bytes
    try styleBytes.withUnsafeBytes { styleBytes throws(StoreError) in
      try metadata.withUnsafeBytes { metadata throws(StoreError) in
        let prepared = try prepare(
          value, url: url, style: style, styleBytes: styleBytes, metadata: metadata, options: options)
        defer { prepared.release() }
        try put(prepared, durability: options.durability)
      }
    }
  }

  /// `body` is what the bytes came through, if not from the caller at once.
  func put(_ put: PreparedPut, durability: Durability?, body: UnfinishedBody? = nil) throws(StoreError) {
    try requireWritable()
    let durability = durability ?? identity.durability
    func commit() throws(StoreError) -> Committed {
      // Another thread may store the same bytes, or take the shared ones away, between looking and committing.
      while true {
        var pending = try place(put, durability: durability, body: body)
        pending.body = body
        let awaitsSync = durability == .synced
        if let committed = try self.commit([pending], moreKeys: 1, awaitsSync: awaitsSync) { return committed }
      }
    }
    let extent = try body == nil ? extentOfItsOwn(put) : 0
    let committed = try extent > 0 ? placing(extent, commit) : commit()
    bytesPut.wrappingAdd(put.logicalByteCount, ordering: .relaxed)
    if durability == .synced { try acknowledgeSynced(committed.sequence) }
  }

  /// Bytes of the segment that a put gets for itself, 0 where it goes to one with others. Throws `tooLarge` where even an
  /// empty store has no room for it.
  private func extentOfItsOwn(_ put: PreparedPut) throws(StoreError) -> Int {
    let byteCount = put.stored.count
    // No segment is smaller; a head that makes the difference does not matter here.
    if byteCount < CacheFormat.smallestSegment { return 0 }
    let extent = largestExtent(put.headByteCount(isReference: false), byteCount, put.isPageAligned)
    let (segment, limit) = locked { (segmentByteCount, largestValue(overhead: extent - byteCount)) }
    if extent <= segment { return 0 }
    if byteCount > limit { throw .tooLarge(byteCount: byteCount, limit: limit) }
    return extent
  }

  /// Reserves room, fills it, and makes it durable where the frame will not carry it. The room that `body` lends holds
  /// the payload already.
  func place(
    _ put: PreparedPut, durability: Durability, body: UnfinishedBody? = nil
  ) throws(StoreError) -> PendingOperation {
    var put = put
    let now = environment.clock.wallMilliseconds()
    if body == nil { try requireNamed(at: now) } else { try requireNamedNow() }
    if put.followsOriginal { put.follow(sourceOfOriginal(put.url, put.hash)) }
    let (shared, others) = findShared(put)
    let written = put.written ?? now
    var pending = try place(
      put, sharing: shared, durability: durability, written: written, in: shared == nil ? body?.room : nil)
    pending.others = others
    return pending
  }

  /// A change of an entry that `isChange` costs it nothing in a loss of power, also where it is buffered.
  func place(
    _ put: PreparedPut, sharing shared: Shared?, durability: Durability, written: Int64, in room: Reservation? = nil,
    isChange: Bool = false
  ) throws(StoreError) -> PendingOperation {
    let payload = shared == nil ? put.stored : UnsafeRawBufferPointer(start: nil, count: 0)
    let reservation: Reservation
    let sequence: UInt64
    var isPassed = false
    if let room {
      reservation = room
      (sequence, isPassed) = try takeBack(room)
    } else {
      (reservation, sequence) = try reserve(
        put.stream, headByteCount: put.headByteCount(isReference: shared != nil), payloadByteCount: payload.count,
        pageAligned: put.isPageAligned && shared == nil)
    }
    let head = ThreadContext.current.head
    head.removeAll()
    put.head(
      sequence: sequence, origin: shared?.origin ?? sequence,
      storedByteCount: shared?.storedByteCount ?? put.stored.count, encoding: shared?.encoding ?? put.encoding,
      isReference: shared != nil, written: written,
      payloadOffset: reservation.payloadOffset, seed: catalog.segments.seed(reservation.location), into: head)
    // A reference always rides in its frame: what it refers to may be durable, and the loss of its own record, which
    // nobody has synced, would take that with it (contract 4).
    let isSmall = head.count + payload.count <= largestInline
    let isCarried = (durability == .synced || shared != nil) && !isPassed && isSmall
    let isThere = room != nil
    try fill(
      reservation, head.bytes, isThere ? UnsafeRawBufferPointer(start: nil, count: 0) : payload, isCarried: isCarried,
      awaitsSync: isCarried && durability == .synced)
    let isTransient = shared == nil && put.encoding == .zstd
    let inline = isCarried ? CarriedRecord(head: head.bytes, payload: payload, isTransient: isTransient) : nil
    // Short of a descriptor, say: then nobody will commit what has been placed.
    var isDurable = false
    defer { if !isDurable { locked { reservation.segment.pendingCount -= 1 } } }
    if durability == .synced || isPassed || isChange, !isCarried { try sync(reservation.segment) }
    if durability == .synced, let shared { try makeDurable(payloadAt: shared.location) }
    isDurable = true
    return PendingOperation(
      hash: put.hash, url: put.url, style: put.style, digest: put.digest, logicalByteCount: put.logicalByteCount,
      recordSequence: sequence, original: put.original,
      expires: put.expiration != 0, due: earliestExpiry(of: put, written: written),
      kind: .put(
        reservation, headUnits: Unit.count(head.count), payloadUnits: Unit.count(payload.count), shared: shared,
        inline: inline))
  }

  /// The most bytes of a record that a frame carries; larger ones are synced in their segment.
  var largestInline: Int { min(256 << 10, (wal?.capacity ?? 0) / 8) }

  /// Brings a record into its room, which is given up when that fails.
  func fill(
    _ reservation: Reservation, _ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, isCarried: Bool,
    awaitsSync: Bool = false
  ) throws(StoreError) {
    var failed: SystemError?
    // Next to the sync of a frame, bringing pages in is slow.
    let window = awaitsSync ? nil : reservation.window
    if !(window?.store(head, payload, at: reservation.offset) ?? false) {
      do throws(SystemError) {
        let file = try reservation.segment.requireFile()
        try file.write(head, payload, at: reservation.offset)
      } catch {
        failed = error
      }
    }
    locked {
      reservation.segment.filled(reservation, isCarried: isCarried)
      if failed != nil { reservation.segment.pendingCount -= 1 }
    }
    bytesWritten.wrappingAdd(head.count + payload.count, ordering: .relaxed)
    if let failed { throw writeError(failed) }
  }
}
