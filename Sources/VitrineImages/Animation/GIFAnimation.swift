/// The frames of a GIF.
///
/// Format: <https://www.w3.org/Graphics/GIF/spec-gif89a.txt>. The number of plays is in Netscape's extension.
struct GIFAnimation: AnimationFile {
  let format = ImageFormat.gif
  private(set) var canvas: PixelSize
  private(set) var playCount: Int? = 1
  private(set) var parts: [AnimationPart] = []
  private(set) var damage: ImageError?
  /// The description of the screen after its size: flags, background, aspect; then the colors.
  private var screen: Range<Int>

  private enum Mark {
    static let image: UInt8 = 0x2C
    static let extensionBlock: UInt8 = 0x21
    static let control: UInt8 = 0xF9
    static let application: UInt8 = 0xFF
    static let end: UInt8 = 0x3B
  }

  private struct Control {
    var milliseconds = 0
    var disposal = AnimationPart.Disposal.keep
    var transparentIndex: UInt8?
  }

  /// Reads at most `mostParts` frames and one more.
  init?(_ bytes: PictureBytes, mostParts: Int) {
    guard let width = bytes.integer(at: 6, byteCount: 2, isLittleEndian: true),
      let height = bytes.integer(at: 8, byteCount: 2, isLittleEndian: true), let flags = bytes[10]
    else { return nil }
    canvas = PixelSize(width: width, height: height)
    var offset = 13 + GIFAnimation.colorByteCount(flags)
    screen = 10..<offset
    var control = Control()
    while parts.count <= mostParts, let mark = bytes[offset] {
      switch mark {
      case Mark.end: return
      case Mark.extensionBlock:
        if bytes[offset + 1] == Mark.control { control = GIFAnimation.control(bytes, at: offset + 2) }
        if bytes[offset + 1] == Mark.application { readPlayCount(bytes, at: offset + 2) }
        offset = GIFAnimation.end(ofBlocks: bytes, from: offset + 2)
      case Mark.image:
        guard let part = GIFAnimation.part(bytes, at: offset, control, screen: canvas) else {
          damage = .truncated(.gif)
          return
        }
        control = Control()
        if parts.isEmpty {
          // Browsers also enlarge a canvas that is smaller than the first frame.
          canvas = PixelSize(
            width: max(width, part.left + part.width), height: max(height, part.top + part.height))
        }
        parts.append(part)
        offset = part.bytes.upperBound
      default:
        // Browsers, too, take this for the end.
        return
      }
    }
  }

  private static func colorByteCount(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }

  /// Returns the offset after a list of blocks, which an empty block ends. A list beyond the file ends with the file.
  private static func end(ofBlocks bytes: PictureBytes, from start: Int) -> Int {
    var offset = start
    while let count = bytes[offset] {
      offset += 1 + Int(count)
      if count == 0 { return offset }
    }
    return max(start, bytes.count)
  }

  private static func control(_ bytes: PictureBytes, at offset: Int) -> Control {
    guard let count = bytes[offset], count >= 4, let flags = bytes[offset + 1], let index = bytes[offset + 4],
      let delay = bytes.integer(at: offset + 2, byteCount: 2, isLittleEndian: true)
    else { return Control() }
    // 3 restores, and so does 4 in files of old programs.
    let disposal: AnimationPart.Disposal =
      switch flags >> 2 & 7 {
      case 2: .clear
      case 3, 4: .restore
      default: .keep
      }
    return Control(
      milliseconds: delay * 10, disposal: disposal, transparentIndex: flags & 1 == 0 ? nil : index)
  }

  /// Reads the number of repetitions after the first play; 0 is without end.
  private mutating func readPlayCount(_ bytes: PictureBytes, at offset: Int) {
    guard bytes[offset] == 11, ["NETSCAPE2.0", "ANIMEXTS1.0"].contains(where: { bytes.hasText($0, at: offset + 1) }),
      let count = bytes[offset + 12], count >= 3, bytes[offset + 13] == 1,
      let repetitions = bytes.integer(at: offset + 14, byteCount: 2, isLittleEndian: true)
    else { return }
    playCount = repetitions == 0 ? nil : repetitions + 1
  }

  private static func part(
    _ bytes: PictureBytes, at offset: Int, _ control: Control, screen: PixelSize
  ) -> AnimationPart? {
    func number(_ place: Int) -> Int? { bytes.integer(at: offset + place, byteCount: 2, isLittleEndian: true) }
    guard let left = number(1), let top = number(3), var width = number(5), var height = number(7),
      let flags = bytes[offset + 9]
    else { return nil }
    // Browsers give a frame without pixels the size of the screen.
    if width == 0 || height == 0 { (width, height) = (screen.width, screen.height) }
    // The colors, the size of a code, and the blocks of codes.
    let end = end(ofBlocks: bytes, from: offset + 10 + colorByteCount(flags) + 1)
    return AnimationPart(
      left: left, top: top, width: width, height: height, milliseconds: control.milliseconds,
      disposal: control.disposal, isBlended: true, transparentIndex: control.transparentIndex,
      bytes: offset..<end)
  }

  func still(of part: AnimationPart, in bytes: PictureBytes) throws(ImageError) -> [UInt8] {
    var file = Array("GIF89a".utf8)
    file.append(part.width, byteCount: 2, isLittleEndian: true)
    file.append(part.height, byteCount: 2, isLittleEndian: true)
    bytes.append(screen, to: &file)
    if let index = part.transparentIndex { file += [Mark.extensionBlock, Mark.control, 4, 1, 0, 0, index, 0] }
    file += [Mark.image, 0, 0, 0, 0]
    file.append(part.width, byteCount: 2, isLittleEndian: true)
    file.append(part.height, byteCount: 2, isLittleEndian: true)
    bytes.append(part.bytes.dropFirst(9), to: &file)
    return file
  }
}
