/// A value that is not whole yet: a body that arrives in pieces, or a bitmap that is being drawn. ``UnfinishedBodies``
/// and ``Admissions`` hold the facts about it that change.
final class UnfinishedBody: Sendable {
  let target: BodyTarget
  let hash: KeyHash
  /// The declared length in bytes; nil if none was declared.
  let length: Int?
  let number: UInt64

  init(_ target: BodyTarget, _ hash: KeyHash, length: Int?, number: UInt64) {
    self.target = target
    self.hash = hash
    self.length = length
    self.number = number
  }

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
      hasNamedSource: named != nil, lastUsedMilliseconds: nil, isShared: false,
      isPinned: options.isPinned ?? false)
  }
}
