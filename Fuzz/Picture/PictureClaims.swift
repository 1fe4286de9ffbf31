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

  func check() {
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

  private func decode() -> DecodedImage? {
    do throws(ImageError) {
      return try decoder.decode(bytes.bytes, atLeast: wanted)
    } catch {
      switch error {
      case .unsupportedFormat, .truncated, .corrupt, .tooLarge: return nil
      default: refute("\(error)")
      }
    }
  }
}
