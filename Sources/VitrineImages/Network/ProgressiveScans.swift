/// Finds the scans of a progressive JPEG while its bytes arrive, so that the picture so far can be shown.
///
/// The scans of such a file refine the whole picture one after another. The scans so far and an end marker are a
/// complete, coarser file. Reads each byte once: O(bytes). Any bytes are fine. A file of another kind has no parts.
struct ProgressiveScans {
  /// The number of parts that are still wanted. Each costs a copy of the bytes so far.
  private var wantedCount: Int
  /// The first byte that has not been read.
  private var offset = 0
  private var isInScan = false
  private var isOver = false
  /// The number of channels, once the frame's header is known.
  private var channelCount: Int?
  /// The channels that have their coarse values. Before all have them, colors are missing.
  private var coarseChannels: Set<UInt8> = []
  /// The ends of the latest complete scan and of the latest part.
  private var scanEnd = 0
  private var partEnd = 0

  private enum Marker {
    static let startOfImage: UInt8 = 0xD8
    static let endOfImage: UInt8 = 0xD9
    static let startOfScan: UInt8 = 0xDA
    /// Progressive frames, by Huffman codes and by arithmetic codes.
    static let progressiveFrames: Set<UInt8> = [0xC2, 0xCA]
    /// Other frames. The rest of their range are tables.
    static let otherFrames: Set<UInt8> = [0xC0, 0xC1, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCB, 0xCD, 0xCE, 0xCF]
    /// Markers without a length. Restart markers are also part of a scan's data.
    static let restarts: ClosedRange<UInt8> = 0xD0...0xD7
    static let temporary: UInt8 = 0x01
  }

  /// `mostParts`: the limit of the number of parts.
  init(mostParts: Int) { wantedCount = mostParts }

  /// Reads on in the bytes received so far. Returns a part to show, if a scan is complete and the bytes have at least
  /// doubled since the latest part. The last scan gives no part, since the whole picture follows it.
  mutating func part(of bytes: [UInt8]) -> [UInt8]? {
    if wantedCount <= 0 || isOver { return nil }
    bytes.withUnsafeBytes { buffer in
      let bytes = PictureBytes(buffer)
      while !isOver, isInScan ? readScan(bytes) : readSegment(bytes) {}
    }
    guard !isOver, scanEnd > 0, scanEnd >= 2 * partEnd, coarseChannels.count == channelCount else { return nil }
    partEnd = scanEnd
    wantedCount -= 1
    return bytes[..<scanEnd] + [0xFF, Marker.endOfImage]
  }

  /// Reads to the end of a scan's data: the first marker that is not part of it. Returns false if more bytes are needed.
  private mutating func readScan(_ bytes: PictureBytes) -> Bool {
    while let found = bytes.offset(of: 0xFF, from: offset) {
      guard let next = bytes[found + 1] else {
        offset = found
        return false
      }
      if next == 0 || Marker.restarts.contains(next) {
        offset = found + 2
      } else if next == 0xFF {
        offset = found + 1
      } else {
        offset = found
        isInScan = false
        if next != Marker.endOfImage { scanEnd = found }
        return true
      }
    }
    offset = max(offset, bytes.count)
    return false
  }

  /// Reads one marker, with its segment if it has one. Returns false if more bytes are needed.
  private mutating func readSegment(_ bytes: PictureBytes) -> Bool {
    guard let first = bytes[offset], let marker = bytes[offset + 1] else { return false }
    if offset == 0, marker != Marker.startOfImage { isOver = true }
    guard first == 0xFF, marker != Marker.endOfImage, !Marker.otherFrames.contains(marker), !isOver else {
      isOver = true
      return false
    }
    if marker == 0xFF {
      offset += 1
      return true
    }
    if marker == Marker.startOfImage || marker == Marker.temporary || Marker.restarts.contains(marker) {
      offset += 2
      return true
    }
    guard let length = bytes.integer(at: offset + 2, byteCount: 2, isLittleEndian: false) else { return false }
    let end = offset + 2 + length
    guard length >= 2 else {
      isOver = true
      return false
    }
    guard end <= bytes.count else { return false }
    if Marker.progressiveFrames.contains(marker) {
      channelCount = bytes[offset + 9].map(Int.init)
    } else if marker == Marker.startOfScan {
      readScanHeader(bytes, end)
    }
    offset = end
    return true
  }

  /// Reads the channels of a scan, two bytes each, the number of its first frequency, and the number of bits that earlier
  /// scans have sent. Both numbers are 0 in a scan of coarse values.
  private mutating func readScanHeader(_ bytes: PictureBytes, _ end: Int) {
    guard channelCount != nil, let count = bytes[offset + 4].map(Int.init), offset + 8 + 2 * count == end else {
      isOver = true
      return
    }
    isInScan = true
    guard bytes[end - 3] == 0, let bits = bytes[end - 1], bits >> 4 == 0 else { return }
    for index in 0..<count {
      if let channel = bytes[offset + 5 + 2 * index] { coarseChannels.insert(channel) }
    }
  }
}
