/// A value that is not whole yet: a body that arrives in pieces, or a bitmap that is being drawn.
///
/// Guarded by the store's commit lock.
final class UnfinishedBody: @unchecked Sendable {
  let target: BodyTarget
  let hash: KeyHash
  /// The declared length in bytes; nil if none was declared.
  let length: Int?
  let number: UInt64
  var receivedByteCount = 0
  /// The body's number in the order in which bodies got room, while it holds any.
  var turn: UInt64 = 0
  /// Bytes of the disk that were admitted for it.
  var heldByteCount = 0
  /// The held bytes that were admitted while the body waited and that it has not asked for again yet.
  var unusedByteCount = 0
  /// The waiting request for more room.
  var waiter: RoomWaiter?
  /// The room in a segment that the body fills.
  var room: Reservation?
  /// The file in which the body grows if its length is not known.
  var stagedFile: StagedFile?
  /// True if the key was removed after the body had begun, so the body must not be committed.
  var isAborted = false
  /// The only thread that has worked on the body so far; nil if there were several, or if the owner does not choose
  /// them.
  var thread: ThreadContext.Token?

  init(_ target: BodyTarget, _ hash: KeyHash, length: Int?, number: UInt64, isAnybodys: Bool) {
    self.target = target
    self.hash = hash
    self.length = length
    self.number = number
    thread = isAnybodys ? nil : ThreadContext.current.token
  }

  var threadID: ObjectIdentifier? { thread.map { ObjectIdentifier($0) } }
  func has(url: UnsafeRawBufferPointer) -> Bool { url.elementsEqual(target.key.url) }
  func has(style: UnsafeRawBufferPointer) -> Bool { style.elementsEqual(target.key.style.bytes) }
}

extension EntryInfo {
  /// The entry that a body would become. Its digest is zero, because not all bytes are there. Its length is the
  /// declared one, or that of the bytes received.
  init(_ body: UnfinishedBody, receivedByteCount: Int, at now: Int64) {
    let options = body.target.options
    let byteCount = body.length ?? receivedByteCount
    var named: Source?
    if case .named(let source) = options.source { named = source }
    self.init(
      key: body.target.key, digest: Digest(high: 0, low: 0), encoding: options.layout == nil ? .plain : .bitmap,
      layout: options.layout, byteCount: byteCount, storedByteCount: byteCount, metadata: options.metadata,
      writtenMilliseconds: now, expirationMilliseconds: options.expirationMilliseconds,
      slidingExpirationMilliseconds: options.slidingExpirationMilliseconds, source: named,
      hasNamedSource: named != nil, lastUsedMilliseconds: nil, isShared: false)
  }
}
