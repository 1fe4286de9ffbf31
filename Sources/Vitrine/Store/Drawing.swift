extension CacheStore {
  /// Stores a bitmap that `body` draws into the store's own memory, in place of what the key had: nothing is copied.
  ///
  /// `body` gets `layout.byteCount` zeroed bytes at a multiple of 64, or of a page with `options.isPageAligned`. When it
  /// returns, the bitmap is committed; when it throws, nothing has happened, and its error is thrown on. The old value
  /// stays readable until the commit. No lock is held while `body` runs: it may call this store, and draw in it.
  ///
  /// Costs a mapping of the bitmap's pages and one pass for the digest. Drawings and bodies in pieces hold at most an
  /// eighth of the budget together, but one of them is always admitted; beyond that a drawing waits for others, at most
  /// 5 seconds, not at all when it would wait for its own thread, and throws `noSpace` then. Throws `aborted` when
  /// the key was removed meanwhile, alone or with others, `tooLarge` above 1 GiB, and what ``put(_:for:options:)`` throws. Safe from any
  /// thread. `options.layout` is not used.
  public func draw<R>(
    _ key: CacheKey, layout: BitmapLayout, options: PutOptions = PutOptions(),
    _ body: (inout MutableRawSpan, BitmapLayout) throws -> R
  ) throws -> R {
    guard let result = try core.draw(key, layout, options, waits: true, body) else { throw StoreError.noSpace }
    return result
  }

  /// The same with rows at multiples of 64 bytes (see ``BitmapLayout/drawable(width:height:format:)``). Throws
  /// `invalidArgument` unless width and height are 1 to 65,535.
  public func draw<R>(
    _ key: CacheKey, width: Int, height: Int, format: PixelFormat, options: PutOptions = PutOptions(),
    _ body: (inout MutableRawSpan, BitmapLayout) throws -> R
  ) throws -> R {
    guard let layout = BitmapLayout.drawable(width: width, height: height, format: format) else {
      throw StoreError.invalidArgument("a bitmap has 1 to 65535 pixels each way, not \(width) by \(height)")
    }
    return try draw(key, layout: layout, options: options, body)
  }
}

extension AsyncCacheStore {
  /// As ``CacheStore/draw(_:layout:options:_:)``, with `body` on a thread of the pool.
  public func draw<R: Sendable>(
    _ key: CacheKey, layout: BitmapLayout, options: PutOptions = PutOptions(),
    _ body: @escaping @Sendable (inout MutableRawSpan, BitmapLayout) throws -> R
  ) async throws -> R {
    try await AsyncCacheStore.patiently {
      try store.core.draw(key, layout, options, waits: false, body)
    }
  }

  /// Tries again while `body` answers nil because others hold the room. The waiting is done off the pool's few threads,
  /// which those others may need.
  static func patiently<R: Sendable>(_ body: @escaping @Sendable () throws -> R?) async throws -> R {
    let pause = 5
    var waited = 0
    while true {
      let result: Result<R?, any Error> = await BlockingPool.shared.run { Result { try body() } }
      if let done = try result.get() { return done }
      guard waited < StoreCore.longestWaitMilliseconds else { throw StoreError.noSpace }
      try await Task.sleep(nanoseconds: UInt64(pause) * 1_000_000)
      waited += pause
    }
  }
}

extension StoreCore {
  /// Nil where it would have to wait and `waits` forbids it.
  func draw<R>(
    _ key: CacheKey, _ layout: BitmapLayout, _ options: PutOptions, waits: Bool,
    _ body: (inout MutableRawSpan, BitmapLayout) throws -> R
  ) throws -> R? {
    try requireWritable()
    guard layout.byteCount <= RecordHeader.largestPayload else {
      throw StoreError.tooLarge(byteCount: layout.byteCount, limit: RecordHeader.largestPayload)
    }
    var options = options
    options.layout = layout
    let target = BodyTarget(key: key, options: options)
    let drawing = try begin(target, length: layout.byteCount, isAnybodys: false)
    defer { end(drawing) }
    guard try lend(target, byteCount: layout.byteCount, to: drawing, waits: waits) else { return nil }
    guard let room = drawing.room, let file = room.segment.file else { throw StoreError.closed }
    let start = room.offset + room.payloadOffset
    guard
      let canvas = Canvas(
        file, start..<start + layout.byteCount, isMapped: mapsForWriting)
    else {
      throw StoreError.system(SystemError(code: 12, operation: "draw", path: room.segment.fileName))
    }
    var span = canvas.bytes.mutableBytes
    let result = try body(&span, layout)
    do throws(SystemError) { try canvas.commit() } catch { throw writeError(error) }
    bytesWritten.wrappingAdd(layout.byteCount, ordering: .relaxed)
    let drawn = UnsafeRawBufferPointer(canvas.bytes)
    try target.withPut(self) { put throws(StoreError) in
      var put = put
      put.carry(drawn, environment.digest?(drawn) ?? Digest(of: drawn))
      try self.put(put, durability: options.durability, body: drawing)
    }
    withExtendedLifetime(canvas) {}
    return result
  }
}
