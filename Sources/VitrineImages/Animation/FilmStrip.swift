import Vitrine

/// The layout of a stored animation: a header, the time of each frame, and the bitmaps of all frames, which can be
/// mapped without a copy.
///
/// The header has 32 bytes. It begins with the text `VSTRIP01`. Six little-endian numbers of 4 bytes follow: the number
/// of frames, the number of plays (0 for no end), the width, the height, the bytes of a row, and the format of the
/// pixels. Then each frame has its time in milliseconds, in 4 bytes. Each bitmap begins at a multiple of 64.
struct FilmStrip: Sendable, Hashable {
  let layout: BitmapLayout
  let durations: [Duration]
  let playCount: Int?

  private static let name = Array("VSTRIP01".utf8)
  private static let headerByteCount = 32

  /// The number of bytes from one bitmap to the next.
  private var stride: Int { FilmStrip.rounded(layout.byteCount) }
  private var start: Int { FilmStrip.rounded(FilmStrip.headerByteCount + 4 * durations.count) }

  /// The number of bytes of a stored animation.
  var byteCount: Int { start + stride * durations.count }
  /// The bytes between a bitmap and the next.
  var padding: [UInt8] { [UInt8](repeating: 0, count: stride - layout.byteCount) }

  func offset(of index: Int) -> Int { start + index * stride }

  private static func rounded(_ byteCount: Int) -> Int { (byteCount + 63) & ~63 }

  init(layout: BitmapLayout, durations: [Duration], playCount: Int?) {
    self.layout = layout
    self.durations = durations
    self.playCount = playCount
  }

  /// The bytes before the first bitmap.
  var header: [UInt8] {
    var bytes = FilmStrip.name
    let numbers = [
      durations.count, playCount ?? 0, layout.width, layout.height, layout.bytesPerRow, Int(layout.format.rawValue),
    ]
    for number in numbers + durations.map(\.milliseconds) { bytes.append(number, byteCount: 4, isLittleEndian: true) }
    return bytes + [UInt8](repeating: 0, count: start - bytes.count)
  }

  /// Reads the header of a stored animation. Returns nil for other bytes, and for fewer bytes than the frames need.
  init?(_ bytes: RawSpan) {
    let count = bytes.byteCount
    let found = bytes.withUnsafeBytes { buffer -> FilmStrip? in
      let bytes = PictureBytes(buffer)
      func number(_ index: Int) -> Int? {
        bytes.integer(at: FilmStrip.name.count + 4 * index, byteCount: 4, isLittleEndian: true)
      }
      guard bytes.begins(FilmStrip.name), let frameCount = number(0), let playCount = number(1),
        let width = number(2), let height = number(3), let bytesPerRow = number(4), let code = number(5),
        let format = UInt8(exactly: code).flatMap(PixelFormat.init(rawValue:)),
        let layout = BitmapLayout(width: width, height: height, bytesPerRow: bytesPerRow, format: format),
        // This bounds the frame count, so `byteCount` cannot overflow.
        frameCount > 0, frameCount <= count / max(4, layout.byteCount)
      else { return nil }
      let durations = (0..<frameCount).compactMap { number(6 + $0).map { Duration.milliseconds($0) } }
      return durations.count < frameCount
        ? nil : FilmStrip(layout: layout, durations: durations, playCount: playCount == 0 ? nil : playCount)
    }
    guard let found, found.byteCount <= count else { return nil }
    self = found
  }
}

extension Duration {
  fileprivate var milliseconds: Int { Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000) }
}
