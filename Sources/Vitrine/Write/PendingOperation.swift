/// One operation of a commit, with the place of its record.
struct PendingOperation {
  enum Kind {
    /// `shared` is the record whose payload this record uses if it carries none itself.
    case put(Reservation, headUnits: Int, payloadUnits: Int, shared: Shared?, inline: CarriedRecord?)
    case remove
    /// Removes every style of the URL.
    case removeStyles
  }
  let hash: KeyHash
  let url: UnsafeRawBufferPointer
  let style: UnsafeRawBufferPointer
  let digest: Digest
  let logicalByteCount: Int
  /// The number of the record that was placed; 0 for a removal.
  var recordSequence: UInt64 = 0
  /// For a change of an existing entry: the location that its record must still have.
  var expected: Location?
  /// For a put that follows its URL's original: the source that the original must still give.
  var original: Source??
  /// True if the record says when the entry expires.
  var expires = false
  /// True if the record's source, if any, does not come from the original of its URL.
  var isIndependent = false
  /// The earliest time at which the entry may expire, in milliseconds since 1970; nil for never.
  var due: Int64?
  /// Blobs with the same digest that were compared with the put and cannot be shared.
  var others: [Location] = []
  /// The body or drawing from which the bytes came. It must not have been aborted.
  var body: UnfinishedBody?
  /// True if bodies of the key that were begun before must not be committed any more.
  var abortsBodies = false
  var kind: Kind

  /// Returns the payload stored for `put`, for other operations of the same commit to share; nil if it shares one
  /// itself.
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
