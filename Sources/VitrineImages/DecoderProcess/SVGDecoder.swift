import Vitrine

/// Draws SVG in decoder processes, for an ``ImageDecoder`` that decodes all other formats in the calling process:
/// `ImageDecoder(formats: [SVGDecoder(executable: path)])`.
///
/// The program at `path` is `vitrine-decoder`, which loads librsvg (2.52 or newer) for the first SVG. Without that
/// library, the error is `noDecoder`. Scripts and animations do not run, and nothing outside the file is loaded,
/// except fonts. A ``ProcessDecoder`` draws SVG too.
///
/// A drawing costs two conversations with a process, some tenths of a millisecond, and reads the file three times.
/// Thread-safe. A call blocks its thread.
public struct SVGDecoder: FormatDecoding {
  private let processes: ProcessDecoder

  /// Creates a decoder with processes of its own. `executable` is the path of `vitrine-decoder`; it is first accessed for
  /// the first SVG. The limits of the options apply together with those of the ``ImageDecoder``.
  public init(executable: String, options: ProcessDecoder.Options = ProcessDecoder.Options()) {
    self.init(ProcessDecoder(executable: executable, options: options))
  }

  /// Creates a decoder that shares the processes of another one.
  public init(_ processes: ProcessDecoder) { self.processes = processes }

  /// SVG.
  public var format: ImageFormat { .svg }

  /// Whether the first element is one of SVG. Reads at most 64 KiB.
  public func recognizes(_ bytes: RawSpan) -> Bool { (try? ImageFormat(of: bytes)) == .svg }

  /// Returns the description of the file, which a process reads whole. Throws ``ImageError``.
  public func info(of bytes: RawSpan) throws(ImageError) -> ImageInfo { try processes.info(of: bytes) }

  /// Draws the picture at the smallest size of its proportions that has at least `size`, or at its own size if nil. Draws
  /// it smaller if that size is above the limits. Throws ``ImageError``.
  public func decode(
    _ bytes: RawSpan, _ info: ImageInfo, atLeast size: PixelSize?, limits: DecodingLimits
  ) throws(ImageError) -> DecodedImage {
    try processes.decode(bytes, atLeast: size.map { VectorScale.size(of: info.size, atLeast: $0, limits) })
  }
}
