/// The record of a put, in its place.
struct PlacedRecord {
  let reservation: Reservation
  /// The record's number.
  let sequence: UInt64
  let headUnits: Int
  let payloadUnits: Int
  /// The record whose payload this record uses; nil if it has its own.
  let shared: Shared?
  /// The record's bytes, for its frame; nil if its segment alone has them.
  let carried: CarriedRecord?
  /// Blobs with the same digest that were compared with the put and cannot be shared.
  var others: [Location] = []
  /// False if the URL had no entries when the record was placed.
  let mayReplace: Bool

  var location: Location { reservation.location }
}

/// One operation of a commit: a put if it has a record, else a removal.
struct PendingOperation {
  let key: OperationKey
  let digest: Digest
  let logicalByteCount: Int
  /// For a change that depends on the key's entry: the entry that the key must still have.
  var expected: ExpectedEntry?
  /// For a put that follows its URL's original: the source that the original must still give.
  var original: Source??
  var expiry = Expiry()
  var pin = PinChange()
  /// True if the record's source, if any, does not come from the original of its URL.
  var isIndependent = false
  /// The body or drawing from which the bytes came. It must not have been aborted.
  var body: UnfinishedBody?
  /// True if bodies of the key that were begun before must not be committed any more.
  var abortsBodies = false
  /// The record of a put; nil for a removal.
  var record: PlacedRecord?
  /// True for a removal of every style of the URL.
  var removesAllStyles = false

  struct Expiry {
    /// True if the record has an expiry.
    var isInRecord = false
    /// The earliest time at which the entry may expire, in milliseconds since 1970; nil for never.
    var due: Int64?
  }

  struct PinChange {
    /// Whether the record's head has the flag of a pinned entry.
    var isPinned = false
    /// True if the caller of the operation has set `isPinned`. Otherwise the entry is pinned if the one that it
    /// replaces is: the head has the state when the record was placed, and index and log have the state at the commit.
    var isGiven = false

    func isPinned(replacing wasPinned: Bool) -> Bool { isGiven ? isPinned : wasPinned }
  }

  /// Returns the payload stored for `put`, for other operations of the same commit to share; nil if it shares one
  /// itself.
  func ownPayload(of put: PreparedPut) -> Shared? {
    guard let record, record.shared == nil else { return nil }
    return Shared(
      location: record.location, origin: record.sequence, storedByteCount: put.payload.stored.count,
      encoding: put.payload.encoding)
  }
}

extension PendingOperation {
  var location: Location? { record?.location }

  /// Whether its frame carries its record.
  var isCarried: Bool { record?.carried != nil }

  /// The change of a put; nil for a removal.
  func change(_ hasher: KeyHasher) -> Change.Put? {
    guard let location else { return nil }
    var put = Change.Put(
      hash: key.hash, location: location, headUnits: record?.headUnits ?? 0, payloadUnits: record?.payloadUnits ?? 0,
      logicalByteCount: logicalByteCount, content: hasher.content(digest),
      contentLocation: record?.shared?.location ?? location, displaced: nil, expires: expiry.isInRecord)
    put.isIndependent = isIndependent
    put.styleMark = Style.mark(of: key.style)
    return put
  }

  /// The most bytes that the operation takes in a frame.
  var largestEncoding: Int { 192 + (record?.carried.map { roundUp($0.byteCount, to: 8) } ?? 0) }
}
