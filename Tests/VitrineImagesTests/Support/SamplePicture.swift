import PictureFiles

@testable import VitrineImages

/// A small picture of each kind that the decoders read.
enum SamplePicture: String, CaseIterable, Sendable {
  case jpeg
  case progressiveJPEG
  case jpegOfSeveralScans
  case arithmeticJPEG
  case grayJPEG
  case cmykJPEG
  case ycckJPEG
  case jpegWithRestarts
  case turnedJPEG
  case png
  case opaquePNG
  case deepPNG
  case interlacedPNG
  case palettePNG
  case lossyWebP
  case lossyWebPWithAlpha
  case losslessWebP
  case losslessWebPWithAlpha
  case animatedWebP
  #if MoreFormats
    case gif
    case animatedGIF
  #endif

  var format: ImageFormat {
    let name = rawValue.lowercased()
    if name.contains("gif") { return .gif }
    return name.contains("jpeg") ? .jpeg : name.contains("png") ? .png : .webp
  }

  var file: [UInt8] {
    get throws {
      switch self {
      case .jpeg: try ImageEncoder.encode(.gradient(24, 17), as: .jpeg())
      case .progressiveJPEG: JPEGFile.progressive
      case .jpegOfSeveralScans: JPEGFile.scans
      case .arithmeticJPEG: JPEGFile.arithmetic
      case .grayJPEG: JPEGFile.gray
      case .cmykJPEG: JPEGFile.adobeCMYK
      case .ycckJPEG: JPEGFile.ycck
      case .jpegWithRestarts: JPEGFile.restarts
      case .turnedJPEG: Exif.insert(Exif.block(6), intoJPEG: JPEGFile.gray)
      case .png: try ImageEncoder.encode(.glass(24, 17), as: .png)
      case .opaquePNG: try ImageEncoder.encode(.gradient(24, 17), as: .png)
      case .deepPNG: PNGFile(width: 9, height: 7, depth: 16) { x, y in [x * 999, y * 7, x * y, 60_000] }.bytes
      case .interlacedPNG:
        PNGFile(width: 9, height: 9, depth: 16, isInterlaced: true) { x, y in [x, y, x * y, 9] }.bytes
      case .palettePNG:
        PNGFile(
          width: 9, height: 5, depth: 2, color: .palette,
          chunks: [("PLTE", [200, 10, 20, 30, 40, 250]), ("tRNS", [77]), ("eXIf", Exif.block(3))]
        ) { x, y in [(x + y) % 2] }.bytes
      case .lossyWebP: try ImageEncoder.encode(.gradient(24, 17), as: .webp())
      case .lossyWebPWithAlpha: try ImageEncoder.encode(.glass(24, 17), as: .webp())
      case .losslessWebP: try ImageEncoder.encode(.gradient(24, 17), as: .losslessWebP)
      case .losslessWebPWithAlpha: try ImageEncoder.encode(.glass(24, 17), as: .losslessWebP)
      case .animatedWebP: try WebPFile.animation()
      #if MoreFormats
        case .gif: SamplePicture.gifFile(frameCount: 1)
        case .animatedGIF: SamplePicture.gifFile(frameCount: 2)
      #endif
      }
    }
  }

  private static func gifFile(frameCount: Int) -> [UInt8] {
    var frame = GIFFile.Frame(width: 16, height: 11) { x, y in (x * y) % 4 }
    (frame.transparent, frame.isInterlaced) = (frameCount == 1 ? nil : 3, frameCount == 1)
    return GIFFile(
      width: 16, height: 11, colors: (0..<12).map { UInt8($0 * 20) },
      frames: [GIFFile.Frame](repeating: frame, count: frameCount)
    ).bytes
  }

  /// Returns the file with one to four changed bytes, and a size for decoding it. Both follow from `seed`.
  func changed(_ file: [UInt8], seed: Int) -> (file: [UInt8], size: PixelSize?) {
    var random = SeededRandom(seed: UInt64(seed))
    var file = file
    for _ in 0...random.below(4) {
      let offset = random.below(file.count)
      switch random.below(4) {
      case 0: file[offset] ^= 1 << UInt8(random.below(8))
      case 1: file[offset] = [0, 0xFF, 0x7F, 0x80][random.below(4)]
      case 2: file[offset] = UInt8(random.below(256))
      default: file[offset] = file[random.below(file.count)]
      }
    }
    // With a wrong checksum, libpng would read no further.
    if format == .png, seed % 4 != 0 { file = PNGFile.sealed(file) }
    return (file, random.below(2) == 0 ? nil : PixelSize(width: 1 + random.below(30), height: 1))
  }
}
