import Vitrine

/// A description of the changes to a picture before it is shown. Its name is the second half of a key in the store.
///
/// The grammar of the names, in EBNF, follows. ``init(name:draw:)`` accepts exactly these names, within the limits of
/// ``init(_:scale:format:)``. So each style has one name, and each name one style:
///
/// ```
/// style     = "original" | ( square | rectangle | rounded | free ) , [ "@" , number , "x" ] , [ ":" , format ] ;
/// square    = "square-" , number , [ "-fit" ] ;
/// rectangle = "rectangle-" , number , "x" , number , [ "-fit" ] ;
/// rounded   = "rounded-" , number , "x" , number , "-r" , number , [ "-b" , number ] , [ "-fit" ] ;
/// free      = "free-" , text , ".v" , integer , [ "-" , text ] ;
/// number    = integer , [ "." , digit , [ digit , [ digit ] ] ] ;       (no zero at the end of a fraction)
/// integer   = "0" | ( nonzero , { digit } ) ;
/// text      = ( letter | digit | "_" | "%" , hex , hex ) , { … } ;      (UTF-8; all other bytes escaped, in capitals)
/// format    = "RGBA8888" | "BGRX8888" | "RGBX8888" | "RGB565" | "Gray8" ;
/// ```
///
/// A rectangle with equal sides is a `square`. Scale 1 and format `BGRA8888` are left out.
public struct ImageStyle: Sendable {
  /// The shape of the result.
  public enum Shape: Sendable, Hashable {
    /// The unchanged original.
    case original
    /// A picture that fills a rectangle or fits into it, by the mode.
    case rectangle(width: Points, height: Points, mode: ContentMode)
    /// A rectangle with transparent corners. A border along the edge, inside the size, is transparent too, so that a
    /// ring can show through it.
    case roundedRectangle(width: Points, height: Points, cornerRadius: Points, borderWidth: Points, mode: ContentMode)
    /// A picture that the app draws.
    case free(FreeForm)
  }

  /// The shape of the result.
  public let shape: Shape
  /// The number of pixels for a point, in steps of a thousandth.
  public let scale: Points
  /// The format of the pixels.
  public let format: PixelFormat
  /// The name in the form of the store's keys.
  public let key: Style

  /// Creates a style. Throws `invalidStyle` if the parts contradict each other or are out of bounds: sides above 0 and
  /// of at most 16,384 pixels; a radius above 0 and up to half of the shorter side; a border that leaves some of the
  /// inside; a format with alpha for corners; scales of 0.125 to 16; the bounds of ``FreeForm``; a name of at most 255
  /// bytes.
  public init(_ shape: Shape, scale: Points = 1, format: PixelFormat = .bgra8888) throws(ImageError) {
    self.shape = shape
    self.scale = scale
    self.format = format
    let name = ImageStyle.name(shape, scale, format)
    if let reason = ImageStyle.contradiction(shape, scale, format) { throw .invalidStyle(name, reason: reason) }
    guard let key = Style(name) else { throw .invalidStyle(name, reason: "its name has more than 255 bytes") }
    self.key = key
  }

  /// The canonical name, such as `rounded-60x60-r30@2x`.
  public var name: String { key.name }

  // MARK: Making one

  /// The unchanged picture, in `BGRA8888`.
  public static let original = try! ImageStyle(.original)

  /// Returns a rectangle, with sides in points. Throws `invalidStyle` as ``init(_:scale:format:)`` does.
  public static func rectangle(
    _ width: Points, _ height: Points, mode: ContentMode = .fill, scale: Points = 1, format: PixelFormat = .bgra8888
  ) throws(ImageError) -> ImageStyle {
    try ImageStyle(.rectangle(width: width, height: height, mode: mode), scale: scale, format: format)
  }

  /// Returns a square, with its side in points. Throws `invalidStyle` as ``init(_:scale:format:)`` does.
  public static func square(
    _ side: Points, mode: ContentMode = .fill, scale: Points = 1, format: PixelFormat = .bgra8888
  ) throws(ImageError) -> ImageStyle {
    try rectangle(side, side, mode: mode, scale: scale, format: format)
  }

  /// Returns a rectangle with round, transparent corners, with lengths in points. Throws `invalidStyle` as
  /// ``init(_:scale:format:)`` does.
  public static func roundedRectangle(
    _ width: Points, _ height: Points, cornerRadius: Points, borderWidth: Points = 0, mode: ContentMode = .fill,
    scale: Points = 1, format: PixelFormat = .bgra8888
  ) throws(ImageError) -> ImageStyle {
    try ImageStyle(
      .roundedRectangle(
        width: width, height: height, cornerRadius: cornerRadius, borderWidth: borderWidth, mode: mode),
      scale: scale, format: format)
  }

  /// Returns a circle with transparent corners, with its diameter in points. Throws `invalidStyle` as
  /// ``init(_:scale:format:)`` does.
  public static func circle(
    _ diameter: Points, borderWidth: Points = 0, scale: Points = 1, format: PixelFormat = .bgra8888
  ) throws(ImageError) -> ImageStyle {
    try roundedRectangle(
      diameter, diameter, cornerRadius: Points(diameter.value / 2), borderWidth: borderWidth, scale: scale,
      format: format)
  }

  /// Returns a style that the app draws with `draw`. Throws `invalidStyle` as ``init(_:scale:format:)`` does.
  public static func free(
    _ name: String, version: Int = 1, parameter: String = "", scale: Points = 1, format: PixelFormat = .bgra8888,
    draw: @escaping FreeForm.Draw
  ) throws(ImageError) -> ImageStyle {
    let form = FreeForm(name, version: version, parameter: parameter, draw: draw)
    return try ImageStyle(.free(form), scale: scale, format: format)
  }

  // MARK: Asking it

  /// The size in points, or nil for originals and free forms, whose size depends on the picture or its drawing.
  public var size: (width: Points, height: Points)? {
    switch shape {
    case .original, .free: nil
    case .rectangle(let width, let height, _), .roundedRectangle(let width, let height, _, _, _): (width, height)
    }
  }

  /// The size in pixels, at least 1 in each direction, or nil if ``size`` is nil.
  public var pixelSize: PixelSize? {
    size.map { PixelSize(width: pixels($0.width), height: pixels($0.height)) }
  }

  func pixels(_ length: Points) -> Int { max(1, Int((length.value * scale.value).rounded())) }
}

extension ImageStyle: Hashable, CustomStringConvertible {
  /// Compares by name. The closure of a free form does not count.
  public static func == (a: ImageStyle, b: ImageStyle) -> Bool { a.key == b.key }
  public func hash(into hasher: inout Hasher) { hasher.combine(key) }
  public var description: String { name }
}
