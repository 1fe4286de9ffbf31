extension CacheStore {
  /// Stores a bitmap that `body` draws directly into the store's memory, without a copy. It replaces the key's old
  /// value.
  ///
  /// `body` gets `layout.byteCount` zeroed bytes, aligned to 64 bytes, or to a page with `options.isPageAligned`. When
  /// it returns, the bitmap is committed. If it throws, nothing has changed and its error is rethrown. The old value
  /// stays readable until the commit. `body` runs without a lock and may call this store and draw in it.
  /// `options.layout` is not used.
  ///
  /// Costs a mapping of the bitmap's pages and one pass for the digest. Unfinished drawings and bodies together hold at
  /// most an eighth of the budget, but one of them is always admitted. If that room is used up, a drawing waits for
  /// others for at most 5 seconds, and then throws `noSpace`. It throws `noSpace` at once if it would wait for its own
  /// thread. Throws `aborted` if the key was removed meanwhile, alone or with others, `tooLarge` above 1 GiB, and the
  /// errors of `put(_:for:options:)`. Thread-safe.
  public func draw<R>(
    _ key: CacheKey, layout: BitmapLayout, options: PutOptions = PutOptions(),
    _ body: (inout MutableRawSpan, BitmapLayout) throws -> R
  ) throws -> R {
    let core = try coreInPlace { $0.writes.forgetter.forget([key], withStyles: true) }
    do {
      guard case .done(let result) = try Drawing(core, key, layout, options).draw(waits: true, body) else {
        throw StoreError.noSpace
      }
      return result
    } catch let error as StoreError {
      throw refusal(error, of: core, key)
    }
  }

  /// Stores a bitmap drawn by `body`, with rows at multiples of 64 bytes (see
  /// ``BitmapLayout/drawable(width:height:format:)``). Throws `invalidArgument` unless width and height are 1 to 65,535
  /// pixels. Otherwise as ``draw(_:layout:options:_:)``.
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
  /// The `async` form of ``CacheStore/draw(_:layout:options:_:)``. `body` runs on a thread of the pool. Throws
  /// `CancellationError` if the task is cancelled while the drawing waits for room.
  public func draw<R: Sendable>(
    _ key: CacheKey, layout: BitmapLayout, options: PutOptions = PutOptions(),
    _ body: @escaping @Sendable (inout MutableRawSpan, BitmapLayout) throws -> R
  ) async throws -> R {
    let core = try await AsyncCacheStore.run { () throws(StoreError) in
      try store.coreInPlace { $0.writes.forgetter.forget([key], withStyles: true) }
    }
    do {
      let drawing = try Drawing(core, key, layout, options)
      return try await AsyncCacheStore.patiently(core) { try drawing.draw(waits: false, body) }
    } catch let error as StoreError {
      throw await AsyncCacheStore.read { store.refusal(error, of: core, key) }
    }
  }

  /// Repeats `attempt` until it is done, after each wait that it asks for. The wait holds no thread.
  static func patiently<R: Sendable>(
    _ core: StoreCore, _ attempt: @escaping @Sendable () throws -> RoomAttempt<R>
  ) async throws -> R {
    while true {
      let result: Result<RoomAttempt<R>, any Error> = await BlockingPool.shared.run { Result { try attempt() } }
      switch try result.get() {
      case .done(let value): return value
      case .waits(let waiter): try await core.basics.roomQueue.wait(for: waiter)
      }
    }
  }
}

/// A bitmap that is being drawn. Its room is freed however the drawing ends.
final class Drawing: Sendable {
  private let core: StoreCore
  private let layout: BitmapLayout
  private let drawing: UnfinishedBody

  init(
    _ core: StoreCore, _ key: CacheKey, _ layout: BitmapLayout, _ options: PutOptions
  ) throws(StoreError) {
    try core.basics.gate.requireWritable()
    guard layout.byteCount <= RecordHeader.largestPayload else {
      throw .tooLarge(byteCount: layout.byteCount, limit: RecordHeader.largestPayload)
    }
    var options = options
    options.layout = layout
    self.core = core
    self.layout = layout
    drawing = try core.writes.bodies.begin(
      BodyTarget(key: key, options: options), length: layout.byteCount, isTiedToThread: false)
  }

  deinit { core.writes.bodies.end(drawing) }

  /// Draws and commits on the calling thread, once there is room.
  func draw<R>(
    waits: Bool, _ body: (inout MutableRawSpan, BitmapLayout) throws -> R
  ) throws -> RoomAttempt<R> {
    core.context.commitLock.withLock { held in held.state.admissions.touch(drawing, takesOver: true) }
    if let waiter = try core.writes.bodies.assignRoom(byteCount: layout.byteCount, to: drawing, waits: waits) {
      return .waits(waiter)
    }
    defer { core.writes.bodies.end(drawing) }
    guard let room = core.context.commitLock.withLock({ held in held.state.admissions.room(of: drawing) }) else {
      throw StoreError.closed
    }
    let file = try system { () throws(SystemError) in try room.segment.requireFile() }
    let start = room.offset + room.payloadOffset
    guard let canvas = Canvas(file, start..<start + layout.byteCount, isMapped: core.writes.supply.mapsForWriting)
    else {
      throw StoreError.system(SystemError(code: SystemError.noMemory, operation: "draw", path: room.segment.fileName))
    }
    var span = canvas.bytes.mutableBytes
    let result = try body(&span, layout)
    do throws(SystemError) { try canvas.commit() } catch { throw core.basics.gate.writeError(error) }
    core.basics.meters.count(bytesWritten: layout.byteCount)
    let drawn = UnsafeRawBufferPointer(canvas.bytes)
    try drawing.target.withPut(core.basics.preparer) { put throws(StoreError) in
      var put = put
      put.carry(drawn, core.context.environment.digest?(drawn) ?? Digest(of: drawn))
      try core.writes.putter.put(put, durability: drawing.target.options.durability, body: drawing)
    }
    withExtendedLifetime(canvas) {}
    return .done(result)
  }
}
