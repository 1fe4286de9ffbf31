// The contents of frames, as numbers. No value that is read is trusted: hostile bytes may control the process that
// sent it.

extension DecoderFrame {
  // MARK: Headers

  package init(_ info: ImageInfo, turn: UInt32) {
    let flags = [info.hasAlpha, info.isProgressive, info.isAnimated, info.isLossless]
    self.init(
      .header, turn: turn,
      numbers: [
        Int64(ImageFormat.builtIn.firstIndex(of: info.format) ?? 0), Int64(info.size.width), Int64(info.size.height),
        Int64(info.orientation.rawValue), Int64(info.bitsPerChannel), info.colors.number,
        flags.enumerated().reduce(0) { $0 | ($1.element ? 1 << Int64($1.offset) : 0) },
      ])
  }

  /// Returns the header, or nil if its values are impossible for the format.
  func info(of format: ImageFormat) -> ImageInfo? {
    guard let codec = FormatCodec.of(format) else { return nil }
    let sides = 1...codec.longestSide
    guard kind == .header, ImageFormat.builtIn.firstIndex(of: format).map(Int64.init) == numbers[0],
      sides.contains(numbers[1]), sides.contains(numbers[2]),
      let orientation = Int(exactly: numbers[3]).flatMap(Orientation.init(rawValue:)),
      (1...16).contains(numbers[4]), let colors = ImageInfo.Colors(number: numbers[5]),
      (0..<16).contains(numbers[6])
    else { return nil }
    func flag(_ bit: Int64) -> Bool { numbers[6] >> bit & 1 == 1 }
    return ImageInfo(
      format: format, size: PixelSize(width: Int(numbers[1]), height: Int(numbers[2])), orientation: orientation,
      hasAlpha: flag(0), bitsPerChannel: Int(numbers[4]), colors: colors, isProgressive: flag(1),
      isAnimated: flag(2), isLossless: flag(3))
  }

  // MARK: Errors

  package init(_ error: ImageError, turn: UInt32) {
    switch error {
    case .unsupportedFormat(let found): self.init(.failed, turn: turn, numbers: [1], text: found)
    case .truncated: self.init(.failed, turn: turn, numbers: [2])
    case .corrupt(_, let reason): self.init(.failed, turn: turn, numbers: [3], text: reason)
    case .tooLarge(let width, let height, let limit):
      self.init(.failed, turn: turn, numbers: [4, Int64(width), Int64(height)], text: limit)
    case .tookTooLong(let milliseconds): self.init(.failed, turn: turn, numbers: [5, Int64(milliseconds)])
    case .outOfMemory(let byteCount): self.init(.failed, turn: turn, numbers: [6, Int64(byteCount)])
    case .noDecoder(let reason): self.init(.failed, turn: turn, numbers: [7], text: reason)
    default: self.init(.failed, turn: turn, numbers: [3], text: "\(error)")
    }
  }

  /// Returns the error, or nil without a known error code.
  func error(of format: ImageFormat) -> ImageError? {
    guard kind == .failed else { return nil }
    switch numbers[0] {
    case 1: return .unsupportedFormat(found: text)
    case 2: return .truncated(format)
    case 3: return .corrupt(format, reason: text)
    case 4: return .tooLarge(width: Int(clamping: numbers[1]), height: Int(clamping: numbers[2]), limit: text)
    case 5: return .tookTooLong(milliseconds: Int(clamping: numbers[1]))
    case 6: return .outOfMemory(byteCount: Int(clamping: numbers[1]))
    case 7: return .noDecoder(reason: text)
    default: return nil
    }
  }

  // MARK: Limits

  package init(picture byteCount: Int, _ limits: DecodingLimits, turn: UInt32) {
    let all = [byteCount, limits.side, limits.pixelCount, limits.byteCount, limits.milliseconds]
    self.init(.picture, turn: turn, numbers: all.map(Int64.init))
  }

  package var limits: DecodingLimits {
    DecodingLimits(
      side: Int(clamping: numbers[1]), pixelCount: Int(clamping: numbers[2]), byteCount: Int(clamping: numbers[3]),
      milliseconds: Int(clamping: numbers[4]))
  }

  init(pixels byteCount: Int, atLeast size: PixelSize?, turn: UInt32) {
    self.init(
      .pixels, turn: turn,
      numbers: [Int64(byteCount), size == nil ? 0 : 1, Int64(size?.width ?? 0), Int64(size?.height ?? 0)])
  }

  var leastSize: PixelSize? {
    numbers[1] == 0 ? nil : PixelSize(width: Int(clamping: numbers[2]), height: Int(clamping: numbers[3]))
  }
}

extension ImageInfo.Colors {
  private static let all: [ImageInfo.Colors] = [.gray, .rgb, .cmyk]

  fileprivate var number: Int64 { Int64(ImageInfo.Colors.all.firstIndex(of: self) ?? 0) }

  fileprivate init?(number: Int64) {
    guard let index = Int(exactly: number), ImageInfo.Colors.all.indices.contains(index) else { return nil }
    self = ImageInfo.Colors.all[index]
  }
}
