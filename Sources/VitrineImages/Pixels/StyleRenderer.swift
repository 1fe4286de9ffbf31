import Vitrine

/// Draws a decoded picture in a style.
///
/// A stateless value, which several threads may use at once. A drawing costs one pass over the visible part of the
/// source, and memory for some lines: the bitmap's width times the height of the kernel, and one line of the source.
struct StyleRenderer: Sendable {
  let style: ImageStyle
  /// The stored size of the whole picture in pixels. The source may be smaller, after a scaled decoding, or larger, if it
  /// is a vector picture.
  let picture: PixelSize
  let orientation: Orientation
  let plan: StylePlan
  /// The layout of the bitmap, with rows at 64-byte multiples.
  let layout: BitmapLayout
  var kernel = ResamplingKernel.catmullRom

  /// Throws `invalidArgument` for an empty picture, and for a style without a size: an original or a free form.
  init(
    _ style: ImageStyle, picture: PixelSize, orientation: Orientation = .upright, isVector: Bool = false
  ) throws(ImageError) {
    guard picture.width > 0, picture.height > 0 else { throw .invalidArgument("the picture has \(picture) pixels") }
    guard let plan = StylePlan(style, upright: orientation.applied(to: picture), isVector: isVector),
      let layout = BitmapLayout.drawable(
        width: plan.size.width, height: plan.size.height, format: style.format)
    else { throw .invalidArgument("the style '\(style.name)' has no size") }
    self.style = style
    self.picture = picture
    self.orientation = orientation
    self.plan = plan
    self.layout = layout
  }

  /// The smallest stored size to decode the picture at, so that the bitmap is as good as from the whole one.
  var sufficientSize: PixelSize {
    orientation.applied(to: plan.sufficientSize(of: orientation.applied(to: picture)))
  }

  /// Creates a renderer for the picture of a header. Throws as the other initializer does.
  init(_ style: ImageStyle, _ info: ImageInfo, orientation: Orientation) throws(ImageError) {
    try self.init(style, picture: info.size, orientation: orientation, isVector: info.isVector)
  }

  /// Draws into `memory`, which has at least `layout.byteCount` bytes, and writes every pixel. `rows` is the picture
  /// as stored, whole or smaller. Throws `outOfMemory`.
  func draw(_ rows: PixelRows, into memory: inout MutableRawSpan) throws(ImageError) {
    let result = PixelTarget.lend(&memory, layout) { target in
      StyleRenderer.result { () throws(ImageError) in try StyleRenderer.draw([(self, target)], rows) }
    }
    try result.get()
  }

  private static func result(_ body: () throws(ImageError) -> Void) -> Result<Void, ImageError> {
    do throws(ImageError) { return .success(try body()) } catch { return .failure(error) }
  }
}

// MARK: A family: several styles of one picture

extension StyleRenderer {
  /// Returns the smallest size at which a picture may be decoded for all styles of `family`, which belong to that
  /// picture. Nil if `family` is empty.
  static func sufficientSize(of family: [StyleRenderer]) -> PixelSize? {
    let sizes = family.map(\.sufficientSize)
    guard let width = sizes.map(\.width).max(), let height = sizes.map(\.height).max() else { return nil }
    return PixelSize(width: width, height: height)
  }

  /// Draws several styles of one picture in one pass, and converts each source line to light once. Throws
  /// `outOfMemory`.
  static func draw(
    _ family: [(renderer: StyleRenderer, target: PixelTarget)], _ rows: PixelRows
  ) throws(ImageError) {
    var drawings: [StylePainter] = []
    for (renderer, target) in family {
      drawings.append(try StylePainter(renderer, source: rows.size, into: target))
    }
    let samplers = drawings.map(\.sampler)
    guard let first = samplers.map(\.columns.lowerBound).min(), let end = samplers.map(\.columns.upperBound).max()
    else { return }
    let line = try LinearLines(width: rows.width, count: 1)
    for y in 0..<rows.height where samplers.contains(where: { $0.rows.contains(y) }) {
      rows.readLight(row: y, columns: first..<end, into: line)
      for drawing in drawings { drawing.take(line, row: y) }
    }
  }

  /// Creates a bitmap, and calls the closure to draw into its memory.
  typealias Maker = (BitmapLayout, (inout MutableRawSpan) throws -> Void) throws -> Bitmap

  /// Draws a bitmap for each style of `family`, in its order. `make` provides the memory.
  static func bitmaps(
    _ family: [StyleRenderer], _ rows: PixelRows, by make: @escaping Maker = { try Bitmap(layout: $0, $1) }
  ) throws -> [Bitmap] {
    var bitmaps: [Bitmap] = []
    try collect(family[...], [], rows, make, &bitmaps)
    return bitmaps.reversed()
  }

  /// The memory of a bitmap is accessible only inside its `make` call, so the calls for a family are nested.
  private static func collect(
    _ rest: ArraySlice<StyleRenderer>, _ targets: [(renderer: StyleRenderer, target: PixelTarget)], _ rows: PixelRows,
    _ make: @escaping Maker, _ bitmaps: inout [Bitmap]
  ) throws {
    guard let renderer = rest.first else { return try draw(targets, rows) }
    let bitmap = try make(renderer.layout) { memory in
      try PixelTarget.lend(&memory, renderer.layout) { target in
        try collect(rest.dropFirst(), targets + [(renderer, target)], rows, make, &bitmaps)
      }
    }
    bitmaps.append(bitmap)
  }
}
