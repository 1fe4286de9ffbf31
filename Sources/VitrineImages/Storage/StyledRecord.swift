import Vitrine

/// What is kept beside what a style made: 26 bytes of metadata, and behind them what is known of the original's response,
/// which may be all that is left of the original.
///
/// Byte 0 is the version, 1 to 16 the original's digest, 17 to 24 until when it is fresh, 25 how often it was shown; where
/// there is more, byte 26 says whether headers chose it (1) or not (0), and the rest is a ``ResponseRecord``. So a showing
/// reads no more than 27 bytes where no headers chose it.
struct StyledRecord: Hashable {
  /// Of the original's bytes. Nil for an entry that somebody else has made.
  var original: Digest?
  /// As that of the original when this was made, or found to be good; nil for always.
  private(set) var freshUntil: Int64?
  /// How often it was shown from the storage, as far as that decides something: 0 to 255.
  var showingCount: Int = 0
  private var isChosenByHeaders = false
  private var responseMetadata: [UInt8] = []

  private static let version: UInt8 = 3
  private static let fixedByteCount = 26
  /// Of a response: above it, what a server sends only to be sent back is left out, so that the picture can be kept.
  private static let mostResponseBytes = 32 << 10

  init(original: Digest?, response: ResponseRecord?, showingCount: Int = 0) {
    self.original = original
    self.showingCount = showingCount
    set(response)
  }

  /// Of the original's response; nil where nothing is known of it that is of use. O(its bytes).
  var response: ResponseRecord? { ResponseRecord(metadata: responseMetadata) }

  mutating func set(_ response: ResponseRecord?) {
    freshUntil = response?.freshUntil
    isChosenByHeaders = response?.vary.isEmpty == false
    responseMetadata = []
    guard let response, freshUntil != nil || isChosenByHeaders || !response.conditions.isEmpty else { return }
    let metadata = response.metadata
    if metadata.count <= StyledRecord.mostResponseBytes || isChosenByHeaders { responseMetadata = metadata }
  }

  /// As that of the original: see ``ResponseRecord/vary``.
  var vary: [String: String] {
    // What cannot be read chose by nobody knows what.
    isChosenByHeaders ? response?.vary ?? ["*": ""] : [:]
  }

  /// Metadata of another kind say nothing.
  init(metadata: [UInt8]) {
    guard metadata.count >= StyledRecord.fixedByteCount, metadata[0] == StyledRecord.version else { return }
    func number(_ start: Int) -> UInt64 { (0..<8).reduce(0) { $0 | UInt64(metadata[start + $1]) << (8 * $1) } }
    original = Digest(high: number(9), low: number(1))
    let until = Int64(bitPattern: number(17))
    freshUntil = until == .max ? nil : until
    showingCount = Int(metadata[25])
    if metadata.count > StyledRecord.fixedByteCount {
      isChosenByHeaders = metadata[StyledRecord.fixedByteCount] != 0
      responseMetadata = Array(metadata[(StyledRecord.fixedByteCount + 1)...])
    }
  }

  var metadata: [UInt8] {
    guard let original else { return [] }
    let words = [original.low, original.high, UInt64(bitPattern: freshUntil ?? .max)]
    let fixed =
      [StyledRecord.version]
      + words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
      + [UInt8(clamping: showingCount)]
    return responseMetadata.isEmpty ? fixed : fixed + [isChosenByHeaders ? 1 : 0] + responseMetadata
  }
}
