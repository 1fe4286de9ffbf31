/// One operation of a batch, with where its record was put.
struct PendingOperation {
  enum Kind {
    /// `shared` is the record whose payload it uses, when it carries none itself.
    case put(Reservation, headUnits: Int, payloadUnits: Int, shared: Shared?, inline: CarriedRecord?)
    case remove
    /// Takes every style of the URL.
    case removeStyles
  }
  let hash: KeyHash
  let url: UnsafeRawBufferPointer
  let style: UnsafeRawBufferPointer
  let digest: Digest
  let logicalByteCount: Int
  /// The number of the record that was placed, 0 for a removal.
  var recordSequence: UInt64 = 0
  /// For a change of what an entry has: its record must still be this one.
  var expected: Location?
  /// For a put that follows its URL's original: the source that this must still be.
  var original: Source??
  /// The record says when the entry expires.
  var expires = false
  /// The record has no source that its URL's original gives.
  var isIndependent = false
  /// No sooner than this the entry may expire, in milliseconds since 1970; nil for never.
  var due: Int64?
  /// Blobs with the same digest that are not what is put.
  var others: [Location] = []
  /// For what came in pieces or was drawn: it must not have been aborted.
  var body: UnfinishedBody?
  /// Bodies of its key that were begun before must not be committed any more.
  var abortsBodies = false
  var kind: Kind

  /// The payload that was stored for `put`, for others of the same commit to share; nil where it shares one itself.
  func ownPayload(of put: PreparedPut) -> Shared? {
    guard case .put(let reservation, _, _, nil, _) = kind else { return nil }
    return Shared(
      location: reservation.location, origin: recordSequence, storedByteCount: put.stored.count, encoding: put.encoding)
  }
}

extension PendingOperation {
  var location: Location? {
    if case .put(let reservation, _, _, _, _) = kind { reservation.location } else { nil }
  }

  /// The most bytes that the operation takes in a frame.
  var largestEncoding: Int {
    if case .put(_, _, _, _, let inline?) = kind { 192 + roundUp(inline.byteCount, to: 8) } else { 192 }
  }
}
