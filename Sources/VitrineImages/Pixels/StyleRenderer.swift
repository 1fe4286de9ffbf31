import Vitrine

/// Draws a decoded picture in a style.
///
/// A value without state: it may be used by several threads at once. Drawing costs a pass over the part of the source that
/// is seen, and memory for some lines: the bitmap's width times the height of the kernel, and one line of the source.
struct StyleRenderer: Sendable {
  let style: ImageStyle
  /// The whole picture's size as it is stored, in pixels. A source may be smaller: what a scaled decode gives.
  let picture: PixelSize
  let orientation: Orientation
  let plan: StylePlan
  /// Of the bitmap: rows at multiples of 64 bytes.
  let layout: BitmapLayout
  var kernel = ResamplingKernel.catmullRom

  /// Throws `invalidArgument` for a style that is not drawn from a size (an original, a free form) or an empty picture.
  init(_ style: ImageStyle, picture: PixelSize, orientation: Orientation = .upright) throws(ImageError) {
    guard picture.width > 0, picture.height > 0 else { throw .invalidArgument("a picture of \(picture) pixels") }
    guard let plan = StylePlan(style, upright: orientation.applied(to: picture)),
      let layout = BitmapLayout.drawable(
        width: plan.size.width, height: plan.size.height, format: style.format)
    else { throw .invalidArgument("'\(style.name)' has no size to draw a picture in") }
    self.style = style
    self.picture = picture
    self.orientation = orientation
    self.plan = plan
    self.layout = layout
  }

  /// The smallest size to decode the picture in, as it is stored, at which the bitmap is as good as from the whole one.
  var sufficientSize: PixelSize {
    orientation.applied(to: plan.sufficientSize(of: orientation.applied(to: picture)))
  }

  /// Draws into `memory`, which has `layout.byteCount` bytes, and writes every pixel of it. `rows` is the picture, whole or
  /// smaller, as it is stored. Throws `outOfMemory`.
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
  /// The smallest size to decode a picture in that is good enough for all of `family`, which are of that one picture. Nil
  /// for none.
  static func sufficientSize(of family: [StyleRenderer]) -> PixelSize? {
    let sizes = family.map(\.sufficientSize)
    guard let width = sizes.map(\.width).max(), let height = sizes.map(\.height).max() else { return nil }
    return PixelSize(width: width, height: height)
  }

  /// Draws several styles of one picture in one pass: each line of the source is brought to light once. Throws
  /// `outOfMemory`.
  static func draw(
    _ family: [(renderer: StyleRenderer, target: PixelTarget)], _ rows: PixelRows
  ) throws(ImageError) {
    var drawings: [StyleDrawing] = []
    for (renderer, target) in family {
      drawings.append(try StyleDrawing(renderer, source: rows.size, into: target))
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

  /// Makes a bitmap of memory that it lends to be drawn into.
  typealias Maker = (BitmapLayout, (inout MutableRawSpan) throws -> Void) throws -> Bitmap

  /// The same into memory of its own, or that `make` has: a bitmap for each of `family`, in its order.
  static func bitmaps(
    _ family: [StyleRenderer], _ rows: PixelRows, by make: @escaping Maker = { try Bitmap(layout: $0, $1) }
  ) throws -> [Bitmap] {
    var bitmaps: [Bitmap] = []
    try collect(family[...], [], rows, make, &bitmaps)
    return bitmaps.reversed()
  }

  /// Bitmaps lend their memory while they are made, so those of a family are made one inside of the other.
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
