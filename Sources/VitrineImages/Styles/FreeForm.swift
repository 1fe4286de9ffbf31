import Vitrine

/// A style that an app draws itself: a name badge, an overlay.
///
/// Name, version and parameter are its identity; whoever changes what `draw` does raises the version.
public struct FreeForm: Sendable {
  /// What there is to draw with.
  public struct Context: Sendable {
    /// The parameter of the style, such as the name on a badge.
    public let parameter: String
    /// Pixels for a point.
    public let scale: Double
    /// What the result is kept as; drawn in another format it is converted.
    public let format: PixelFormat
  }

  /// Makes the styled picture of a decoded one, which is upright and in `BGRA8888`. Runs on any thread, several times at
  /// once.
  public typealias Draw = @Sendable (_ picture: Bitmap, _ context: Context) throws -> Bitmap

  /// 1 to 64 bytes.
  public let name: String
  /// 0 to 999,999,999.
  public let version: Int
  /// For drawing per model, such as the name on a badge: up to 64 bytes, empty for none.
  public let parameter: String
  /// Nil when the style was read from its name.
  public let draw: Draw?

  /// Makes a form. ``ImageStyle/init(_:scale:format:)`` checks the bounds.
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
