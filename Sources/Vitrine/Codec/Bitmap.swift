/// The channels of a pixel: their order and size in memory.
public enum PixelFormat: UInt8, Sendable, CaseIterable {
  /// Blue, green, red, alpha: one byte each, in this order in memory.
  case bgra8888 = 1
  /// Blue, green, red, and a byte without meaning.
  case bgrx8888 = 2
  /// Red, green, blue, alpha: one byte each, in this order in memory.
  case rgba8888 = 3
  /// Red, green, blue, and a byte without meaning.
  case rgbx8888 = 4
  /// A little-endian 16-bit number: 5 bits of red from the top, 6 of green, 5 of blue.
  case rgb565 = 5
  /// One byte of luminance.
  case gray8 = 6

  /// Bytes that one pixel takes: 1, 2 or 4.
  public var bytesPerPixel: Int {
    switch self {
    case .bgra8888, .bgrx8888, .rgba8888, .rgbx8888: 4
    case .rgb565: 2
    case .gray8: 1
    }
  }

  /// The spelling that commands and reports use, such as `BGRA8888`.
  public var name: String {
    switch self {
    case .bgra8888: "BGRA8888"
    case .bgrx8888: "BGRX8888"
    case .rgba8888: "RGBA8888"
    case .rgbx8888: "RGBX8888"
    case .rgb565: "RGB565"
    case .gray8: "Gray8"
    }
  }

  /// Reads ``name``, in any case; nil for anything else.
  public init?(name: String) {
    guard let match = PixelFormat.allCases.first(where: { $0.name.lowercased() == name.lowercased() }) else {
      return nil
    }
    self = match
  }
}

/// Width, height and row length of a bitmap.
public struct BitmapLayout: Sendable, Hashable {
  /// Width in pixels.
  public let width: Int
  /// Height in pixels.
  public let height: Int
  /// Bytes from one row's start to the next one's.
  public let bytesPerRow: Int
  /// The format of each pixel.
  public let format: PixelFormat

  /// Creates a layout. Rows are packed unless `bytesPerRow` says otherwise. Returns nil unless width and height are 1
  /// to 65,535 pixels, and a row has room for its pixels and at most 2^30 bytes.
  public init?(width: Int, height: Int, bytesPerRow: Int? = nil, format: PixelFormat) {
    let limit = 1...65535
    guard limit.contains(width), limit.contains(height) else { return nil }
    let row = bytesPerRow ?? width * format.bytesPerPixel
    guard row >= width * format.bytesPerPixel, row <= 1 << 30 else { return nil }
    self.width = width
    self.height = height
    self.bytesPerRow = row
    self.format = format
  }

  /// The layout for drawing: rows at multiples of 64 bytes, which suits vector code and GPUs. Nil unless width and
  /// height are 1 to 65,535 pixels.
  public static func drawable(width: Int, height: Int, format: PixelFormat) -> BitmapLayout? {
    guard let packed = BitmapLayout(width: width, height: height, format: format) else { return nil }
    return BitmapLayout(
      width: width, height: height, bytesPerRow: roundUp(packed.bytesPerRow, to: 64), format: format)
  }

  /// `height * bytesPerRow`: the required byte count of the bitmap.
  public var byteCount: Int { height * bytesPerRow }
}
