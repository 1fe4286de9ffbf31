/// The frames of an animated WebP.
///
/// Format: <https://developers.google.com/speed/webp/docs/riff_container>. The chunk `ANIM` has the number of plays,
/// and each chunk `ANMF` has a frame: its description in 16 bytes, and the chunks of a picture.
struct WebPAnimation: AnimationFile {
  let format = ImageFormat.webp
  private(set) var canvas: PixelSize
  private(set) var playCount: Int?
  private(set) var parts: [AnimationPart] = []
  private(set) var damage: ImageError?
  /// The whole chunk of the color profile, if there is one.
  private var profile: Range<Int>?

  private enum Flag {
    static let animation: UInt8 = 0x02
    static let alpha: UInt8 = 0x10
    static let profile: UInt8 = 0x20
  }

  /// Reads at most `mostParts` frames and one more.
  init?(_ bytes: PictureBytes, mostParts: Int) {
    guard bytes.hasText("VP8X", at: 12), let flags = bytes[20], flags & Flag.animation != 0,
      let length = bytes.integer(at: 4, byteCount: 4, isLittleEndian: true),
      let width = bytes.integer(at: 24, byteCount: 3, isLittleEndian: true),
      let height = bytes.integer(at: 27, byteCount: 3, isLittleEndian: true)
    else { return nil }
    canvas = PixelSize(width: width + 1, height: height + 1)
    // The header states the length of the file. Bytes after it do not belong to the file.
    let end = min(bytes.count, length + 8)
    var offset = 12
    while parts.count <= mostParts, offset < end {
      guard let size = bytes.integer(at: offset + 4, byteCount: 4, isLittleEndian: true) else { break }
      let content = offset + 8..<min(offset + 8 + size, max(end, offset + 8))
      if bytes.hasText("ICCP", at: offset), flags & Flag.profile != 0, profile == nil,
        size <= AnimationColors.mostByteCount
      {
        profile = offset..<content.upperBound
      } else if bytes.hasText("ANIM", at: offset), content.count >= 6 {
        let plays = bytes.integer(at: content.lowerBound + 4, byteCount: 2, isLittleEndian: true) ?? 0
        playCount = plays == 0 ? nil : plays
      } else if bytes.hasText("ANMF", at: offset) {
        guard content.count == size else {
          damage = .truncated(.webp)
          return
        }
        guard let part = WebPAnimation.part(bytes, content, canvas) else {
          damage = .corrupt(.webp, reason: "a frame without a header")
          return
        }
        if part.left + part.width > canvas.width || part.top + part.height > canvas.height {
          damage = .corrupt(.webp, reason: "a frame lies outside of its canvas")
          return
        }
        parts.append(part)
      }
      offset += 8 + size + size & 1
    }
    if bytes.count < length + 8 { damage = .truncated(.webp) }
  }

  private static func part(_ bytes: PictureBytes, _ content: Range<Int>, _ canvas: PixelSize) -> AnimationPart? {
    func number(_ place: Int) -> Int? {
      bytes.integer(at: content.lowerBound + place, byteCount: 3, isLittleEndian: true)
    }
    guard content.count >= 16, let left = number(0), let top = number(3), let width = number(6),
      let height = number(9), let milliseconds = number(12), let flags = bytes[content.lowerBound + 15]
    else { return nil }
    return AnimationPart(
      left: left * 2, top: top * 2, width: width + 1, height: height + 1, milliseconds: milliseconds,
      disposal: flags & 1 == 0 ? .keep : .clear, isBlended: flags & 2 == 0,
      bytes: content.lowerBound + 16..<content.upperBound)
  }

  func still(of part: AnimationPart, in bytes: PictureBytes) throws(ImageError) -> [UInt8] {
    let picture = chunks(of: part, in: bytes)
    var extended: [UInt8] = [(picture.hasAlpha ? Flag.alpha : 0) | (profile == nil ? 0 : Flag.profile), 0, 0, 0]
    extended.append(part.width - 1, byteCount: 3, isLittleEndian: true)
    extended.append(part.height - 1, byteCount: 3, isLittleEndian: true)
    var content = Array("WEBPVP8X".utf8)
    content.append(extended.count, byteCount: 4, isLittleEndian: true)
    content += extended
    if let profile {
      bytes.append(profile, to: &content)
      if profile.count % 2 == 1 { content.append(0) }
    }
    bytes.append(picture.range, to: &content)
    var file = Array("RIFF".utf8)
    file.append(content.count, byteCount: 4, isLittleEndian: true)
    return file + content
  }

  /// Returns the chunks of a frame's picture up to its pixels. A chunk of alpha may precede lossy pixels.
  private func chunks(of part: AnimationPart, in bytes: PictureBytes) -> (range: Range<Int>, hasAlpha: Bool) {
    var offset = part.bytes.lowerBound
    var hasAlpha = false
    while offset < part.bytes.upperBound {
      guard let size = bytes.integer(at: offset + 4, byteCount: 4, isLittleEndian: true) else { break }
      let end = min(offset + 8 + size + size & 1, part.bytes.upperBound)
      if bytes.hasText("ALPH", at: offset) { hasAlpha = true }
      // Bit 28 of the header of lossless pixels is the alpha flag. A byte of signature precedes the header.
      if bytes.hasText("VP8L", at: offset), let flags = bytes[offset + 12] { hasAlpha = flags & 0x10 != 0 }
      if bytes.hasText("VP8 ", at: offset) || bytes.hasText("VP8L", at: offset) {
        return (part.bytes.lowerBound..<end, hasAlpha)
      }
      offset = max(end, offset + 8)
    }
    return (part.bytes, hasAlpha)
  }
}
