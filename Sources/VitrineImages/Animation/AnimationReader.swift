import Vitrine

/// A frame of an animation: the whole picture at a time, with the pixels of earlier frames that are left.
public struct AnimationFrame: Sendable {
  /// The place among the frames; 0 for the first.
  public let index: Int
  /// The picture, of the size of the animation.
  public let image: DecodedImage
  /// The time until the next frame.
  public let duration: Duration
}

/// Decodes the frames of an animated picture, one after another.
///
/// ```swift
/// if let reader = try AnimationReader(bytes) {
///   while let frame = try reader.next() { show(frame.image, for: frame.duration) }
/// }
/// ```
///
/// Reads GIF, animated PNG and animated WebP. Frames are drawn as browsers draw them. The memory is that of four
/// pictures of the animation's size, for any number of frames; a frame of a GIF may be larger. Thread-safe: calls are
/// serialized, and block the calling thread.
public final class AnimationReader: Sendable {
  /// The format of the file.
  public let format: ImageFormat
  /// The stored size in pixels, before the orientation is applied.
  public let size: PixelSize
  /// The transformation that makes the picture upright.
  public let orientation: Orientation
  /// The number of times to play the frames, or nil for no end.
  public let playCount: Int?
  /// The time of each frame. As in browsers, 100 ms replace times of at most 10 ms.
  public let durations: [Duration]
  /// The number of frames, at least 2.
  public var frameCount: Int { durations.count }

  /// The error that ``next()`` throws after the last frame, if the file ends too early.
  var damage: ImageError? { file.damage }

  private let file: any AnimationFile
  private let bytes: StoredBytes
  private let decoder: any PictureDecoding
  private let state: Locked<State>

  private struct State {
    var canvas: AnimationCanvas?
    /// The place of the next frame.
    var next = 0

    /// Draws a frame onto the canvas, and returns a copy of the canvas.
    mutating func draw(
      _ part: AnimationPart, _ frame: DecodedImage, _ info: ImageInfo
    ) throws(ImageError) -> DecodedImage {
      let canvas: AnimationCanvas
      if let begun = self.canvas { canvas = begun } else { canvas = try AnimationCanvas(info.size) }
      self.canvas = canvas
      try canvas.draw(part, frame)
      return try canvas.copy(info)
    }
  }

  /// Reads the description of the frames. Returns nil if the picture has one frame, or if the frames of its format are
  /// not read: those of AVIF, HEIC and JPEG XL are not. `decoder` decodes each frame, within its limits.
  ///
  /// Throws `unsupportedFormat` for bytes that are no picture, and `tooLarge` above the limits of a picture or of the
  /// number of frames. Takes microseconds, and reads some bytes of each part of the file. Retains the bytes without a
  /// copy.
  public convenience init?(
    _ bytes: [UInt8], decoder: any PictureDecoding = ImageDecoder()
  ) throws(ImageError) {
    try self.init(.array(bytes), decoder)
  }

  /// Reads the description of the frames of a stored picture. Keeps the Blob until the reader is released. Otherwise as
  /// ``init(_:decoder:)-([UInt8],_)``.
  public convenience init?(_ blob: Blob, decoder: any PictureDecoding = ImageDecoder()) throws(ImageError) {
    try self.init(.blob(blob), decoder)
  }

  init?(_ bytes: StoredBytes, _ decoder: any PictureDecoding) throws(ImageError) {
    let limits = decoder.limits
    let found = try bytes.withBytes { span throws(ImageError) in
      try span.withUnsafeBytes { buffer throws(ImageError) -> (any AnimationFile, Orientation)? in
        let bytes = PictureBytes(buffer)
        let format = try ImageFormat(bytes)
        let file: (any AnimationFile)? =
          switch format {
          case .gif: GIFAnimation(bytes, mostParts: limits.frameCount)
          case .png: PNGAnimation(bytes, mostParts: limits.frameCount)
          case .webp: WebPAnimation(bytes, mostParts: limits.frameCount)
          default: nil
          }
        return file.map { ($0, ContainerScan(bytes, format).orientation) }
      }
    }
    guard let (file, orientation) = found, file.parts.count > 1 else { return nil }
    try limits.check(file.canvas)
    if file.parts.count > limits.frameCount {
      throw .tooLarge(width: file.canvas.width, height: file.canvas.height, limit: "\(limits.frameCount) frames")
    }
    // The canvas, the saved part of it, the frame, and the picture that is returned. No overflow: the product of the
    // sides is within the limits.
    let pixels = file.canvas.width.multipliedReportingOverflow(by: file.canvas.height)
    let (byteCount, overflow) = pixels.partialValue.multipliedReportingOverflow(by: 16)
    _ = try limits.check(byteCount: overflow ? .max : byteCount, of: file.canvas)
    self.file = file
    self.bytes = bytes
    self.decoder = decoder
    self.orientation = orientation
    format = file.format
    size = file.canvas
    playCount = file.playCount
    durations = file.parts.map(\.duration)
    state = Locked(State())
  }

  /// Returns the next frame, or nil after the last one. Takes about the time of decoding a picture of the frame's size.
  ///
  /// Throws ``ImageError`` for a damaged frame, and after the last frame for a file that ends too early. The frames
  /// before were whole. After an error, each call throws it again until ``rewind()``.
  public func next() throws(ImageError) -> AnimationFrame? {
    try state.withLock { state throws(ImageError) in
      guard state.next < file.parts.count else {
        if let damage = file.damage { throw damage }
        return nil
      }
      let part = file.parts[state.next]
      let frame = try decoded(part)
      if state.next == 0 { state.canvas = nil }
      let image = try state.draw(part, frame, info(of: frame))
      defer { state.next += 1 }
      return AnimationFrame(index: state.next, image: image, duration: part.duration)
    }
  }

  /// Begins again with the first frame.
  public func rewind() { state.withLock { $0.next = 0 } }

  private func info(of frame: DecodedImage) -> ImageInfo {
    ImageInfo(
      format: format, size: size, orientation: orientation, hasAlpha: true,
      bitsPerChannel: frame.info.bitsPerChannel, colors: frame.info.colors, isAnimated: true,
      isLossless: frame.info.isLossless)
  }

  private func decoded(_ part: AnimationPart) throws(ImageError) -> DecodedImage {
    let still = try bytes.withBytes { span throws(ImageError) in
      try span.withUnsafeBytes { buffer throws(ImageError) in try file.still(of: part, in: PictureBytes(buffer)) }
    }
    let image = try decoder.decode(still)
    guard image.size == PixelSize(width: part.width, height: part.height) else {
      throw .corrupt(format, reason: "a frame is not as large as its header says")
    }
    return image
  }
}
