import Vitrine

/// The metadata of a styled picture: 34 bytes, followed by the record of the original's response, which may be all
/// that is left of the original.
///
/// Byte 0 is the version. Bytes 1 to 16 are the original's digest, 17 to 24 the end of its freshness as its server
/// stated it, 25 to 32 the time of its arrival or last confirmation, and 33 the number of showings. If there is more,
/// byte 34 is 1 if request headers selected the original and 0 if not, and the rest is a ``ResponseRecord``. So a
/// showing reads at most 35 bytes unless headers selected the original.
struct StyledRecord: Hashable {
  /// The digest of the original's bytes, or nil for an entry that another program wrote.
  var original: Digest?
  /// The times of ``ResponseRecord``, at the time of drawing or last validation.
  private var statedFreshUntil: Int64?
  private(set) var confirmedAt: Int64?
  /// The age limit of the app in milliseconds. It is not stored.
  private var ageLimit: Int64?
  /// The number of showings from the storage, 0 to 255. Counts showings of an encoded picture only: the second one
  /// stores it as pixels.
  var showingCount: Int = 0
  private var isChosenByHeaders = false
  private var responseMetadata: [UInt8] = []

  private static let version: UInt8 = 4
  private static let fixedByteCount = 34
  /// The limit of a stored response in bytes. Unless request headers selected the original, a longer record is left
  /// out, so that the picture can still be stored.
  private static let mostResponseBytes = 32 << 10

  init(original: Digest?, response: ResponseRecord?, showingCount: Int = 0) {
    self.original = original
    self.showingCount = showingCount
    set(response)
  }

  /// The record of the original's response, or nil if none is stored. O(its bytes).
  var response: ResponseRecord? { ResponseRecord(metadata: responseMetadata)?.limited(to: ageLimit) }

  /// The end of the original's freshness in milliseconds since 1970, by its response and by the age limit, or nil if it
  /// never ends.
  var freshUntil: Int64? { ResponseRecord.earlier(statedFreshUntil, confirmedAt, ageLimit) }

  func isFresh(at now: Int64) -> Bool {
    guard let freshUntil else { return true }
    return now < freshUntil && !ResponseRecord.isAhead(confirmedAt, now)
  }

  mutating func set(_ response: ResponseRecord?) {
    statedFreshUntil = response?.statedFreshUntil
    confirmedAt = response?.confirmedAt
    isChosenByHeaders = response?.vary.isEmpty == false
    responseMetadata = []
    // A styled picture needs no placeholder of its original.
    var response = response
    response?.placeholder = nil
    guard let response, statedFreshUntil != nil || isChosenByHeaders || !response.conditions.isEmpty else { return }
    let metadata = response.metadata
    if metadata.count <= StyledRecord.mostResponseBytes || isChosenByHeaders { responseMetadata = metadata }
  }

  /// The request headers that selected the original: see ``ResponseRecord/vary``.
  var vary: [String: String] {
    // If the record is unreadable, the selecting headers are unknown, and no request matches.
    isChosenByHeaders ? response?.vary ?? ["*": ""] : [:]
  }

  /// Reads metadata. Unknown metadata gives an empty record. `ageLimit` is in milliseconds.
  init(metadata: [UInt8], ageLimit: Int64? = nil) {
    self.ageLimit = ageLimit
    guard metadata.count >= StyledRecord.fixedByteCount, metadata[0] == StyledRecord.version else { return }
    func number(_ start: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(metadata[start + $1]) << (8 * $1) } }
    original = Digest(high: number(9), low: number(1))
    func time(_ start: Int) -> Int64? {
      let time = Int64(bitPattern: number(start))
      return time == .max ? nil : min(max(time, 0), 1 << 60)
    }
    statedFreshUntil = time(17)
    confirmedAt = time(25)
    showingCount = Int(metadata[33])
    if metadata.count > StyledRecord.fixedByteCount {
      isChosenByHeaders = metadata[StyledRecord.fixedByteCount] != 0
      responseMetadata = Array(metadata[(StyledRecord.fixedByteCount + 1)...])
    }
  }

  var metadata: [UInt8] {
    guard let original else { return [] }
    let times = [statedFreshUntil, confirmedAt].map { UInt64(bitPattern: $0 ?? .max) }
    let words = [original.low, original.high] + times
    let fixed =
      [StyledRecord.version]
      + words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
      + [UInt8(clamping: showingCount)]
    return responseMetadata.isEmpty ? fixed : fixed + [isChosenByHeaders ? 1 : 0] + responseMetadata
  }
}

extension StoredStyled {
  /// Whether a pipeline made the picture from an original, so that it becomes stale with it.
  package var hasOriginal: Bool { StyledRecord(metadata: metadata).original != nil }
}

extension StoredOriginal {
  /// Whether a pipeline loaded the original, and stored the record of the response with it.
  package var hasResponse: Bool { ResponseRecord(metadata: metadata)?.confirmedAt != nil }
}
