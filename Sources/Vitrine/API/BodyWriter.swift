/// Stores a value that arrives in pieces, such as a download of unknown length.
///
/// Write the pieces in order, then call ``commit()``. Until the commit, the key keeps its old value; of several
/// commits, the last one wins. A writer that is abandoned or released leaves no trace. After an error the writer has
/// ended and throws the same error again.
///
/// A body of at most 64 KiB is gathered in memory and put like any value. A longer body of known length is written to
/// room that its first bytes reserve. A longer body of unknown length is written to a file that grows. At the commit,
/// it is copied into a segment if it fits one; otherwise the file itself becomes a segment. A body that is written
/// directly to its room is stored plain, not compressed.
///
/// Calls may come from any thread and are serialized. Only one thread should write at a time, since pieces have an
/// order. The writer keeps its store open.
public final class BodyWriter: Sendable {
  let store: CacheStore
  /// The store's core when the body began.
  let core: StoreCore
  private let target: BodyTarget
  /// The declared length in bytes, if any.
  public let length: Int?
  private let state: Guarded<State>

  private struct State {
    let body: UnfinishedBody
    var sink = Sink.memory(ByteBuffer(capacity: 64))
    var receivedByteCount = 0
  }

  private enum Sink {
    case memory(ByteBuffer)
    /// The body goes directly to its reserved room.
    case room(Segment, start: Int, BodyDigest)
    case staged(StagedFile, BodyDigest)
    case ended(StoreError)
  }

  static let gatheredByteCount = 64 << 10

  fileprivate init(
    _ store: CacheStore, _ core: StoreCore, _ target: BodyTarget, length: Int?, isTiedToThread: Bool
  ) throws(StoreError) {
    self.store = store
    self.core = core
    self.target = target
    self.length = length
    state = Guarded(State(body: try core.writes.bodies.begin(target, length: length, isTiedToThread: isTiedToThread)))
  }

  deinit { abandon() }

  /// Number of bytes written so far.
  public var byteCount: Int { state.withLock { $0.receivedByteCount } }

  /// Adds a piece of any size. Costs a positioned write.
  ///
  /// The first write of a body with a declared length above 64 KiB reserves all its room. A body of unknown length
  /// reserves room once it exceeds 64 KiB, and more as it grows. Unfinished bodies and drawings together hold at most
  /// an eighth of the budget, but the one that got room first is always admitted. If that room is used up, the call
  /// waits for others, in the order of the calls, for at most 5 seconds, and then throws `noSpace`. It throws `noSpace`
  /// at once if it would wait for writers that only its own thread has used. A body of unknown length evicts entries of
  /// at most an eighth of the budget. If the body then needs more room than is free, the call throws `noSpace`.
  ///
  /// Throws `invalidArgument` beyond the declared length, `tooLarge` beyond 1 GiB or the size that the budget can hold,
  /// `aborted` if the key was removed after the writer was made, and the errors of a put.
  public func write(_ bytes: borrowing RawSpan) throws(StoreError) {
    let waiter = try bytes.withUnsafeBytes { bytes throws(StoreError) in try write(bytes, waits: true) }
    if waiter != nil { throw .noSpace }
  }

  /// Adds a piece given as an array. Costs as much as a write of a span, and throws the same errors.
  public func write(_ bytes: [UInt8]) throws(StoreError) { try write(bytes.span.bytes) }

  /// Stores the value under the key, as a put of all pieces would, and ends the writer.
  ///
  /// Throws `invalidArgument` if fewer bytes came than were declared, or if the writer was committed or abandoned
  /// before. Throws `aborted` if the key was removed after the writer was made, alone or with others
  /// (``CacheStore/remove(_:durability:erases:)``), and the errors of a put. Waits for the disk if `synced`, and if the
  /// file of a body of unknown length becomes a segment.
  public func commit() throws(StoreError) {
    try state.withLock { state throws(StoreError) in
      try ending(&state) { state throws(StoreError) in
        try core.basics.gate.requireWritable()
        // An early check, before a segment is made for the value. The check in the commit itself decides.
        if core.context.commitLock.withLock({ held in held.state.unfinished.isAborted(state.body) }) { throw .aborted }
        if let length, state.receivedByteCount < length {
          throw .invalidArgument("\(length) bytes were declared, and \(state.receivedByteCount) came")
        }
        try commit(state)
      }
      end(&state, StoreError.invalidArgument("this body was committed or abandoned before"))
    }
  }

  /// Ends the writer without storing a value. Does nothing if the writer has ended.
  public func abandon() {
    state.withLock { state in
      end(&state, StoreError.invalidArgument("this body was committed or abandoned before"))
    }
  }

  /// This writer with `async` calls.
  public var asynchronous: AsyncBodyWriter { AsyncBodyWriter(writer: self) }

  // MARK: Writing

  /// Writes a piece. If `waits` is false and there is no room, returns the waiter to wait for and writes nothing.
  func write(_ bytes: UnsafeRawBufferPointer, waits: Bool) throws(StoreError) -> RoomWaiter? {
    try state.withLock { state throws(StoreError) in
      try ending(&state) { state throws(StoreError) in
        try core.basics.gate.requireWritable()
        let total = state.receivedByteCount + bytes.count
        let isAborted = core.context.commitLock.withLock { held -> Bool in
          held.state.admissions.touch(state.body)
          held.state.unfinished.note(received: total, of: state.body)
          return held.state.unfinished.isAborted(state.body)
        }
        if isAborted { throw .aborted }
        if bytes.isEmpty { return nil }
        if let length, total > length {
          throw .invalidArgument("\(length) bytes were declared, and at least \(total) came")
        }
        if total > RecordHeader.largestPayload {
          throw .tooLarge(byteCount: total, limit: RecordHeader.largestPayload)
        }
        if let waiter = try take(bytes, total, &state, waits: waits) { return waiter }
        state.receivedByteCount = total
        return nil
      }
    }
  }

  /// Runs `body`. An error ends the writer.
  private func ending<R>(
    _ state: inout State, _ body: (inout State) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    if case .ended(let error) = state.sink { throw error }
    do throws(StoreError) {
      return try body(&state)
    } catch {
      let error = store.refusal(error, of: core, target.key)
      end(&state, error)
      throw error
    }
  }

  private func end(_ state: inout State, _ error: StoreError) {
    if case .ended = state.sink { return }
    state.sink = .ended(error)
    core.writes.bodies.end(state.body)
  }

  private func take(
    _ bytes: UnsafeRawBufferPointer, _ total: Int, _ state: inout State, waits: Bool
  ) throws(StoreError) -> RoomWaiter? {
    switch state.sink {
    case .ended(let error): throw error
    case .memory(let gathered):
      if max(total, length ?? 0) <= BodyWriter.gatheredByteCount {
        gathered.append(bytes)
        return nil
      }
      if let length {
        if let waiter = try core.writes.bodies.assignRoom(byteCount: length, to: state.body, waits: waits) {
          return waiter
        }
        guard let room = core.context.commitLock.withLock({ held in held.state.admissions.room(of: state.body) }) else {
          throw .closed
        }
        state.sink = .room(room.segment, start: room.offset + room.payloadOffset, BodyDigest())
      } else {
        let staged = try core.writes.stagedFiles.stage(target, for: state.body)
        if let waiter = try core.writes.stagedFiles.grow(staged, toHold: total, for: state.body, waits: waits) {
          return waiter
        }
        let digest = BodyDigest()
        try store(gathered.bytes, at: staged.payloadOffset, digest, in: staged.openFile)
        state.sink = .staged(staged, digest)
      }
      return try take(bytes, total, &state, waits: waits)
    case .room(let segment, let start, let digest):
      try store(bytes, at: start + state.receivedByteCount, digest, in: segment.requireFile)
    case .staged(let staged, let digest):
      if let waiter = try core.writes.stagedFiles.grow(staged, toHold: total, for: state.body, waits: waits) {
        return waiter
      }
      try store(bytes, at: staged.payloadOffset + state.receivedByteCount, digest, in: staged.openFile)
    }
    return nil
  }

  private func store(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, _ digest: BodyDigest,
    in file: () throws(SystemError) -> any File
  ) throws(StoreError) {
    do throws(SystemError) {
      let file = try file()
      try file.write(bytes, at: offset)
    } catch {
      throw core.basics.gate.writeError(error)
    }
    core.basics.meters.count(bytesWritten: bytes.count)
    digest.update(bytes)
  }

  // MARK: Committing

  private func commit(_ state: State) throws(StoreError) {
    switch state.sink {
    case .ended(let error): throw error
    case .memory(let gathered):
      try put(of: gathered.bytes, state.body)
    case .room(let segment, let start, let digest):
      guard let room = core.context.commitLock.withLock({ held in held.state.admissions.room(of: state.body) }) else {
        throw .closed
      }
      let rest = core.context.catalog.segments.bytes(at: room.location)
      let place = room.payloadOffset..<room.payloadOffset + state.receivedByteCount
      let mapped = place.upperBound <= rest.count ? UnsafeRawBufferPointer(rebasing: rest[place]) : nil
      try withValue(mapped, at: start, state.receivedByteCount, in: segment.requireFile) { value throws(StoreError) in
        try put(value, digest, state.body)
      }
    case .staged(let staged, let digest):
      let mapping: Mapping
      do throws(SystemError) {
        mapping = try staged.map(payloadByteCount: state.receivedByteCount)
      } catch {
        throw .system(error)
      }
      defer { withExtendedLifetime(mapping) {} }
      let mapped = UnsafeRawBufferPointer(
        start: mapping.start + staged.payloadOffset, count: state.receivedByteCount)
      try withValue(mapped, at: staged.payloadOffset, mapped.count, in: staged.openFile) { value throws(StoreError) in
        let head = try target.withPut(core.basics.preparer) { $0.headByteCount(storedByteCount: value.count) }
        let segmentByteCount = core.context.commitLock.withLock { held in held.state.segmentByteCount }
        if Segment.largestExtent(head, value.count, target.options.isPageAligned) <= segmentByteCount {
          try put(of: value, state.body, received: digest)
        } else {
          try put(value, digest, state.body) { put throws(StoreError) in
            if core.writes.deduplicator.findShared(put).shared == nil {
              try core.writes.stagedFiles.name(staged, put, mapping: mapping, for: state.body)
            }
          }
        }
      }
    }
  }

  /// Calls `body` with the received bytes: mapped, or read into memory if the store maps no segment.
  private func withValue(
    _ mapped: UnsafeRawBufferPointer?, at offset: Int, _ byteCount: Int, in file: () throws(SystemError) -> any File,
    _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    if core.context.opening.reads == .mapped, let mapped { return try body(mapped) }
    guard let memory = PageMemory(byteCount: byteCount) else {
      throw .system(SystemError(code: SystemError.noMemory, operation: "read back", path: store.path))
    }
    defer { memory.free() }
    let space = UnsafeMutableRawBufferPointer(start: memory.start, count: byteCount)
    let count: Int
    do throws(SystemError) { count = try file().read(into: space, at: offset) } catch { throw .system(error) }
    guard count == byteCount else {
      throw .writeFailed(SystemError(code: SystemError.ioError, operation: "read back", path: store.path))
    }
    try body(UnsafeRawBufferPointer(space))
  }

  /// Puts the value as any put does. If the bytes were read back from a file, they must have the digest computed as
  /// they arrived.
  private func put(
    of value: UnsafeRawBufferPointer, _ body: UnfinishedBody, received: BodyDigest? = nil
  ) throws(StoreError) {
    let expected = core.context.environment.digest == nil ? received?.finish().digest : nil
    try target.withPut(core.basics.preparer, of: value) { put throws(StoreError) in
      if let expected, put.payload.digest != expected {
        throw .system(SystemError(code: SystemError.ioError, operation: "read back", path: store.path))
      }
      try core.writes.putter.put(put, durability: target.options.durability, body: body)
    }
  }

  /// Puts a value whose bytes are already in place, after calling `prepare`.
  private func put(
    _ value: UnsafeRawBufferPointer, _ digest: BodyDigest, _ body: UnfinishedBody,
    prepare: (PreparedPut) throws(StoreError) -> Void = { _ in }
  ) throws(StoreError) {
    let (streamed, pieces) = digest.finish()
    try target.withPut(core.basics.preparer) { put throws(StoreError) in
      var put = put
      put.carry(value, core.context.environment.digest?(value) ?? streamed ?? Digest(of: value), pieces: pieces)
      try prepare(put)
      try core.writes.putter.put(put, durability: target.options.durability, body: body)
    }
  }
}

extension CacheStore {
  /// Begins a value that arrives in pieces. See ``BodyWriter``.
  ///
  /// `length` is the length in bytes if known; for a bitmap, `options.layout` gives it. Reserves no room, and so evicts
  /// nothing, before bytes arrive. Throws `invalidArgument` or `tooLarge` for a value that no put would accept, and the
  /// errors of every change (``CacheStore``). O(1).
  public func writer(
    for key: CacheKey, length: Int? = nil, options: PutOptions = PutOptions()
  ) throws(StoreError) -> BodyWriter {
    try writer(for: key, length: length, options: options, isTiedToThread: true)
  }

  /// Begins a value that arrives in pieces, for a URL and a style. Throws the errors of
  /// ``writer(for:length:options:)``. O(1).
  public func writer(
    for url: String, style: Style = .original, length: Int? = nil, options: PutOptions = PutOptions()
  ) throws(StoreError) -> BodyWriter {
    try writer(for: CacheKey(url, style), length: length, options: options)
  }

  func writer(
    for key: CacheKey, length: Int?, options: PutOptions, isTiedToThread: Bool
  ) throws(StoreError) -> BodyWriter {
    let core = try coreInPlace { $0.writes.forgetter.forget([key], withStyles: true) }
    if let length, length < 0 { throw .invalidArgument("a length is 0 or more, not \(length)") }
    let length = length ?? options.layout?.byteCount
    if let length, length > RecordHeader.largestPayload {
      throw .tooLarge(byteCount: length, limit: RecordHeader.largestPayload)
    }
    if let layout = options.layout, layout.byteCount != length {
      throw .invalidArgument("the layout wants \(layout.byteCount) bytes, not \(length ?? 0)")
    }
    let target = BodyTarget(key: key, options: options)
    try target.withPut(core.basics.preparer) { _ in }
    return try BodyWriter(self, core, target, length: length, isTiedToThread: isTiedToThread)
  }
}
