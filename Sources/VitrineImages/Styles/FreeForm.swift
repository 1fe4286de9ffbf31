import Vitrine

/// A style that an app draws itself, such as a name badge or an overlay.
///
/// Name, version and parameter are its identity. If the result of `draw` changes, raise the version.
public struct FreeForm: Sendable {
  /// The parameters of a drawing.
  public struct Context: Sendable {
    /// The parameter of the style, such as the name on a badge.
    public let parameter: String
    /// The number of pixels for a point.
    public let scale: Double
    /// The format of the stored result. A result in another format is converted.
    public let format: PixelFormat
  }

  /// Draws the styled picture from a decoded one, which is upright and in `BGRA8888`. Runs on any thread, also
  /// concurrently.
  public typealias Draw = @Sendable (_ picture: Bitmap, _ context: Context) throws -> Bitmap

  /// The name, 1 to 64 bytes.
  public let name: String
  /// The version, 0 to 999,999,999.
  public let version: Int
  /// The parameter, such as the name on a badge: up to 64 bytes; empty for none.
  public let parameter: String
  /// The closure that draws; nil if the style was read from its name.
  public let draw: Draw?

  /// Creates a form. ``ImageStyle/init(_:scale:format:)`` checks the bounds.
  public init(_ name: String, version: Int = 1, parameter: String = "", draw: Draw?) {
    self.name = name
    self.version = version
    self.parameter = parameter
    self.draw = draw
  }
}

extension FreeForm: Hashable {
  public static func == (a: FreeForm, b: FreeForm) -> Bool {
    a.name.utf8.elementsEqual(b.name.utf8) && a.version == b.version
      && a.parameter.utf8.elementsEqual(b.parameter.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    for byte in name.utf8 { hasher.combine(byte) }
    hasher.combine(version)
    for byte in parameter.utf8 { hasher.combine(byte) }
  }
}
