/// A value that takes its time: a body that arrives in pieces, or a bitmap that is being drawn.
///
/// Guarded by the store's commit lock.
final class UnfinishedBody: @unchecked Sendable {
  let target: BodyTarget
  let hash: KeyHash
  /// The length that was declared, in bytes.
  let length: Int?
  let number: UInt64
  var receivedByteCount = 0
  /// Its place in the order in which bodies got room, while it holds any.
  var turn: UInt64 = 0
  /// Bytes of the disk that were admitted for it.
  var heldByteCount = 0
  /// Those of them that were admitted while it waited, and that it has not asked for again yet.
  var unusedByteCount = 0
  /// Its request for more room, while that waits.
  var waiter: RoomWaiter?
  /// The room of a segment that it fills.
  var room: Reservation?
  /// The file that it grows in, where its length is not known.
  var stagedFile: StagedFile?
  /// Its key was removed after it had begun, so it must not be committed.
  var isAborted = false
  /// The thread that alone has worked on it so far; nil when there were several.
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
  /// The entry that a body would become. Its digest is zero, since its bytes are not all there; its length is the
  /// declared one, or that of the bytes that have come.
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
