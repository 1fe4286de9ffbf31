/// The picture that a viewer shows, to which each frame of an animation adds its pixels.
///
/// The rules are those of GIF, animated PNG and animated WebP, which share them: the previous frame is disposed of, and
/// then the frame is drawn over the canvas or replaces its part. Colors are RGBA with straight alpha. The canvas begins
/// transparent, as in browsers, also if the file names a background color. Single-threaded.
final class AnimationCanvas {
  private let size: PixelSize
  private let bytesPerRow: Int
  private let pixels: PixelMemory
  /// The pixels that were on the canvas under the last frame with the disposal `restore`; nil before the first one.
  private var saved: PixelMemory?
  /// The last frame, whose pixels are to be disposed of.
  private var last: AnimationPart?

  /// Throws `outOfMemory`. The size must be within the limits.
  init(_ size: PixelSize) throws(ImageError) {
    self.size = size
    bytesPerRow = (size.width * 4 + 63) & ~63
    pixels = try PixelMemory(byteCount: bytesPerRow * size.height)
  }

  /// Returns a copy of the canvas. Throws `outOfMemory`.
  func copy(_ info: ImageInfo) throws(ImageError) -> DecodedImage {
    let copy = try PixelMemory(byteCount: pixels.bytes.count)
    copy.bytes.copyMemory(from: UnsafeRawBufferPointer(pixels.bytes))
    return DecodedImage(size: size, bytesPerRow: bytesPerRow, info: info, memory: copy)
  }

  /// Draws a frame. Pixels outside of the canvas are left out. Throws `outOfMemory`.
  func draw(_ part: AnimationPart, _ image: DecodedImage) throws(ImageError) {
    dispose()
    if part.disposal == .restore {
      let copy: PixelMemory
      if let saved { copy = saved } else { copy = try PixelMemory(byteCount: pixels.bytes.count) }
      forRows(of: part) { AnimationCanvas.copy($0, from: pixels, to: copy) }
      saved = copy
    }
    image.withPixels { source in
      source.withUnsafeBytes { source in
        var start = 0
        forRows(of: part) { place in
          let added = UnsafeRawBufferPointer(rebasing: source[start..<start + place.count])
          let target = UnsafeMutableRawBufferPointer(rebasing: pixels.bytes[place])
          if part.isBlended { AnimationCanvas.blend(added, target) } else { target.copyMemory(from: added) }
          start += image.bytesPerRow
        }
      }
    }
    last = part
  }

  /// Disposes of the last frame by its disposal: keeps its pixels, clears them, or restores those under the frame.
  private func dispose() {
    guard let last else { return }
    switch last.disposal {
    case .keep: break
    case .clear:
      forRows(of: last) { place in
        UnsafeMutableRawBufferPointer(rebasing: pixels.bytes[place]).initializeMemory(as: UInt8.self, repeating: 0)
      }
    case .restore:
      guard let saved else { return }
      forRows(of: last) { AnimationCanvas.copy($0, from: saved, to: pixels) }
    }
  }

  private static func copy(_ place: Range<Int>, from source: PixelMemory, to target: PixelMemory) {
    UnsafeMutableRawBufferPointer(rebasing: target.bytes[place])
      .copyMemory(from: UnsafeRawBufferPointer(rebasing: source.bytes[place]))
  }

  /// Calls `body` with the bytes of each row of the frame that lie on the canvas, from top to bottom.
  private func forRows(of part: AnimationPart, _ body: (Range<Int>) -> Void) {
    let width = min(part.width, size.width - part.left)
    guard width > 0 else { return }
    for y in part.top..<max(part.top, min(part.top + part.height, size.height)) {
      let start = y * bytesPerRow + part.left * 4
      body(start..<start + width * 4)
    }
  }

  /// Draws pixels over others: the operator `over` of Porter and Duff, "Compositing Digital Images" (1984), for
  /// straight alpha.
  private static func blend(_ source: UnsafeRawBufferPointer, _ target: UnsafeMutableRawBufferPointer) {
    for at in stride(from: 0, to: source.count, by: 4) {
      let alpha = Int(source[at + 3])
      if alpha == 0 { continue }
      let below = Int(target[at + 3])
      if alpha == 255 || below == 0 {
        for channel in at..<at + 4 { target[channel] = source[channel] }
        continue
      }
      // Shares of 255 * 255.
      let (over, under) = (alpha * 255, below * (255 - alpha))
      let sum = over + under
      for channel in at..<at + 3 {
        let value = (Int(source[channel]) * over + Int(target[channel]) * under + sum / 2) / sum
        target[channel] = UInt8(truncatingIfNeeded: value)
      }
      target[at + 3] = UInt8(truncatingIfNeeded: (sum + 127) / 255)
    }
  }
}
