import CImageCodecs

/// The frames of an animated PNG.
///
/// Format: <https://www.w3.org/TR/png-3/#apng-frame-based-animation>. The chunk `acTL` announces the animation, `fcTL`
/// begins each frame. The pixels of a frame are in chunks `fdAT`, or in `IDAT` for a first frame that is also the still
/// picture.
struct PNGAnimation: AnimationFile {
  let format = ImageFormat.png
  private(set) var canvas: PixelSize
  private(set) var playCount: Int?
  private(set) var parts: [AnimationPart] = []
  private(set) var damage: ImageError?
  /// The chunks that describe colors, before the first pixels.
  private var colors: [Range<Int>] = []

  private struct Chunk {
    let name: String
    let content: Range<Int>
    /// With length, name and checksum.
    var whole: Range<Int> { content.lowerBound - 8..<content.upperBound + 4 }
  }

  private static let colorNames: Set<String> = ["PLTE", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP"]

  /// Reads at most `mostParts` frames and one more.
  init?(_ bytes: PictureBytes, mostParts: Int) {
    guard let header = PNGAnimation.chunk(bytes, at: 8), header.name == "IHDR", header.content.count == 13,
      let width = PNGAnimation.number(bytes, 16), let height = PNGAnimation.number(bytes, 20)
    else { return nil }
    canvas = PixelSize(width: width, height: height)
    var offset = header.whole.upperBound
    var announced = 0
    var sequence = 0
    var hasPixels = false
    var colorByteCount = 0
    while parts.count <= mostParts, let chunk = PNGAnimation.chunk(bytes, at: offset) {
      offset = chunk.whole.upperBound
      switch chunk.name {
      case "acTL":
        if hasPixels || chunk.content.count != 8 { continue }
        announced = PNGAnimation.number(bytes, chunk.content.lowerBound) ?? 0
        let plays = PNGAnimation.number(bytes, chunk.content.lowerBound + 4) ?? 0
        playCount = plays == 0 ? nil : plays
      case "fcTL":
        if announced > 0, parts.count == announced { return }
        if announced == 0 { continue }
        guard let part = PNGAnimation.part(bytes, chunk, sequence, canvas) else {
          damage = .corrupt(.png, reason: "a frame without a valid description")
          return
        }
        sequence += 1
        parts.append(part)
      case "IDAT":
        hasPixels = true
        if parts.count == 1 { extend(by: chunk) }
      case "fdAT":
        guard announced > 0, !parts.isEmpty else { continue }
        guard PNGAnimation.number(bytes, chunk.content.lowerBound) == sequence else {
          damage = .corrupt(.png, reason: "frames in a wrong order")
          parts.removeLast()
          return
        }
        sequence += 1
        extend(by: chunk)
      case "IEND":
        if parts.count < announced { damage = .corrupt(.png, reason: "fewer frames than announced") }
        return
      default:
        guard !hasPixels, PNGAnimation.colorNames.contains(chunk.name),
          chunk.whole.count <= AnimationColors.mostByteCount - colorByteCount
        else { continue }
        colorByteCount += chunk.whole.count
        colors.append(chunk.whole)
      }
    }
    if announced == 0 || parts.count > mostParts { return }
    damage = .truncated(.png)
    if parts.last?.bytes.isEmpty == true { parts.removeLast() }
  }

  private static func number(_ bytes: PictureBytes, _ offset: Int) -> Int? {
    bytes.integer(at: offset, byteCount: 4, isLittleEndian: false)
  }

  /// Returns the chunk at an offset, or nil if it is not whole.
  private static func chunk(_ bytes: PictureBytes, at offset: Int) -> Chunk? {
    guard let length = number(bytes, offset), let name = bytes.text(offset + 4..<offset + 8),
      length <= bytes.count - offset - 12
    else { return nil }
    return Chunk(name: name, content: offset + 8..<offset + 8 + length)
  }

  /// Adds a chunk to the last frame.
  private mutating func extend(by chunk: Chunk) {
    let last = parts.count - 1
    parts[last].bytes = parts[last].bytes.lowerBound..<chunk.whole.upperBound
  }

  private static func part(
    _ bytes: PictureBytes, _ chunk: Chunk, _ sequence: Int, _ canvas: PixelSize
  ) -> AnimationPart? {
    let start = chunk.content.lowerBound
    func field(_ place: Int) -> Int? { number(bytes, start + place) }
    func short(_ place: Int) -> Int? { bytes.integer(at: start + place, byteCount: 2, isLittleEndian: false) }
    guard chunk.content.count == 26, field(0) == sequence, isIntact(bytes, chunk), let width = field(4),
      let height = field(8), let left = field(12), let top = field(16), width > 0, height > 0,
      left + width <= canvas.width, top + height <= canvas.height, let delay = short(20), let divisor = short(22),
      let disposal = bytes[start + 24], disposal <= 2, let blending = bytes[start + 25], blending <= 1
    else { return nil }
    return AnimationPart(
      left: left, top: top, width: width, height: height, milliseconds: delay * 1000 / (divisor == 0 ? 100 : divisor),
      disposal: [.keep, .clear, .restore][Int(disposal)], isBlended: blending == 1,
      bytes: chunk.whole.upperBound..<chunk.whole.upperBound)
  }

  private static func isIntact(_ bytes: PictureBytes, _ chunk: Chunk) -> Bool {
    number(bytes, chunk.content.upperBound)
      == Int(vitrine_png_checksum(bytes.pointer + chunk.content.lowerBound - 4, chunk.content.count + 4))
  }

  func still(of part: AnimationPart, in bytes: PictureBytes) throws(ImageError) -> [UInt8] {
    var file = Array(bytes.prefix(8))
    var header: [UInt8] = []
    header.append(part.width, byteCount: 4, isLittleEndian: false)
    header.append(part.height, byteCount: 4, isLittleEndian: false)
    bytes.append(24..<29, to: &header)
    PNGAnimation.append("IHDR", header, to: &file)
    for range in colors { bytes.append(range, to: &file) }
    var offset = part.bytes.lowerBound
    while offset < part.bytes.upperBound, let chunk = PNGAnimation.chunk(bytes, at: offset) {
      offset = chunk.whole.upperBound
      if chunk.name == "IDAT" { bytes.append(chunk.whole, to: &file) }
      guard chunk.name == "fdAT", chunk.content.count >= 4 else { continue }
      if !PNGAnimation.isIntact(bytes, chunk) { throw .corrupt(.png, reason: "a wrong checksum of a frame") }
      PNGAnimation.append("IDAT", bytes.slice(chunk.content.dropFirst(4)).array, to: &file)
    }
    // Without the chunk of the end, missing pixels are reported as such.
    return file
  }

  private static func append(_ name: String, _ content: [UInt8], to file: inout [UInt8]) {
    file.append(content.count, byteCount: 4, isLittleEndian: false)
    let start = file.count
    file += name.utf8
    file += content
    let sum = file[start...].withUnsafeBufferPointer { vitrine_png_checksum($0.baseAddress, $0.count) }
    file.append(Int(sum), byteCount: 4, isLittleEndian: false)
  }
}
