import Foundation
import Vitrine

@testable import VitrineImages

/// Decodes at once, except one file: its decoding waits until the test opens the gate.
final class GatedDecoder: PictureDecoding {
  private let held: [UInt8]
  private let state = Locked((isOpen: false, waitingCount: 0))

  init(holding file: [UInt8]) { held = file }

  var limits: DecodingLimits { ImageDecoder().limits }
  var waitingCount: Int { state.withLock { $0.waitingCount } }
  func open() { state.withLock { $0.isOpen = true } }

  func decode(
    _ bytes: RawSpan, sizedBy size: (ImageInfo) throws(ImageError) -> PixelSize?
  ) throws(ImageError) -> DecodedImage {
    if bytes.withUnsafeBytes({ $0.elementsEqual(held) }) {
      state.withLock { $0.waitingCount += 1 }
      while !state.withLock({ $0.isOpen }) { usleep(500) }
    }
    return try ImageDecoder().decode(bytes, sizedBy: size)
  }
}
