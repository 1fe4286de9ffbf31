import FuzzSupport

@testable import PictureFiles
@testable import VitrineImages

/// The claims about any bytes as a picture. They decode to a picture that is as large as requested, or to an error that
/// bytes can cause. A second decoding returns the same picture.
struct PictureClaims {
  private let bytes: UnsafeRawBufferPointer
  private let wanted: PixelSize?
  private let decoder: ImageDecoder

  init(bytes: UnsafeRawBufferPointer, mode: UInt8) {
    self.bytes = bytes
    let side = Int(mode >> 1 & 7) * 5
    wanted = side == 0 ? nil : PixelSize(width: side, height: side)
    decoder = ImageDecoder(
      limits: DecodingLimits(
        side: 4096, pixelCount: 1 << 18, byteCount: mode & 16 == 0 ? 16 << 20 : 8192, milliseconds: 15_000))
  }

  /// The limit of frames that are drawn for one input.
  private static let mostFrames = 8

  func check() {
    checkFrames()
    let info = try? decoder.info(of: bytes.bytes)
    guard let image = decode() else { return }
    claim(info == image.info, "a picture with another header than its own")
    let stored = image.info.size
    claim(image.uprightSize == image.orientation.applied(to: image.size), "turned to another size")
    claim(image.bytesPerRow >= image.size.width * 4, "rows overlap")
    claim(image.bytesPerRow * image.size.height <= decoder.limits.byteCount, "more memory than allowed")
    claim(stored.width * stored.height <= decoder.limits.pixelCount, "more pixels than allowed")
    if image.size != stored, let wanted {
      claim(image.info.format == .jpeg, "\(image.info.format) is scaled")
      let size = image.uprightSize
      claim(size.width >= wanted.width && size.height >= wanted.height, "\(size) is less than \(wanted)")
    } else {
      claim(image.size == stored, "\(stored) is decoded as \(image.size)")
    }
    guard let again = decode() else { refute("decoded once, it is none the second time") }
    claim(image.colors == again.colors, "two decodings differ")
    if !image.hasAlpha { claim(image.colors.allSatisfy { $0.alpha == 255 }, "alpha where there is none") }
  }

  private func checkFrames() {
    let reader = unlessRefused { () throws(ImageError) in
      try AnimationReader(bytes.withMemoryRebound(to: UInt8.self) { Array($0) }, decoder: decoder)
    }
    guard case let reader?? = reader else { return }
    claim(reader.frameCount > 1, "an animation of \(reader.frameCount) frames")
    claim(reader.size.width * reader.size.height * 16 <= decoder.limits.byteCount, "more memory than allowed")
    var frames: [DecodedImage] = []
    while frames.count < PictureClaims.mostFrames,
      case let frame?? = unlessRefused({ () throws(ImageError) in try reader.next() })
    {
      claim(frame.index == frames.count && frame.image.size == reader.size, "frame \(frame.index) of another size")
      claim(frame.duration > .milliseconds(10), "a frame of \(frame.duration)")
      frames.append(frame.image)
    }
    claim(frames.count <= reader.frameCount, "more frames than announced")
    reader.rewind()
    for image in frames {
      guard case let again?? = unlessRefused({ () throws(ImageError) in try reader.next() }) else {
        refute("a frame is missing the second time")
      }
      claim(image.colors == again.image.colors, "two decodings of a frame differ")
    }
  }

  private func decode() -> DecodedImage? {
    unlessRefused { () throws(ImageError) in try decoder.decode(bytes.bytes, atLeast: wanted) }
  }

  /// Returns nil for an error that bytes can cause.
  private func unlessRefused<R>(_ body: () throws(ImageError) -> R) -> R? {
    do throws(ImageError) {
      return try body()
    } catch {
      switch error {
      case .unsupportedFormat, .truncated, .corrupt, .tooLarge: return nil
      default: refute("\(error)")
      }
    }
  }
}
