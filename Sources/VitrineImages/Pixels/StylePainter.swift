/// The drawing of one bitmap from source lines into its memory. Single-threaded. Must not outlive the target memory.
final class StylePainter {
  let sampler: RowSampler
  private let writer: UprightWriter
  /// The mask of the stored picture, before it is made upright.
  private let mask: RoundedMask?
  private let width: Int
  private let coverage: PixelMemory

  /// Draws from a source of size `source`, which may be smaller than the picture. Throws `outOfMemory`.
  init(_ renderer: StyleRenderer, source: PixelSize, into target: PixelTarget) throws(ImageError) {
    let (plan, orientation) = (renderer.plan, renderer.orientation)
    precondition(target.layout.width == plan.size.width && target.layout.height == plan.size.height)
    var part = orientation.stored(plan.part, in: renderer.picture)
    let across = Double(source.width) / Double(renderer.picture.width)
    let down = Double(source.height) / Double(renderer.picture.height)
    part = PixelRectangle(
      x: part.x * across, y: part.y * down, width: part.width * across, height: part.height * down)
    let stored = orientation.applied(to: plan.size)
    sampler = try RowSampler(
      renderer.kernel, part: part, of: source, to: stored, mirrorsColumns: orientation.mirrorsColumns)
    writer = try UprightWriter(target, orientation)
    mask = orientation.transposes ? plan.mask?.transposed : plan.mask
    width = stored.width
    coverage = try PixelMemory(byteCount: mask == nil ? 0 : width * 4)
  }

  func take(_ line: LinearLines, row y: Int) {
    guard sampler.rows.contains(y) else { return }
    let coverage = self.coverage.bytes.baseAddress!.assumingMemoryBound(to: Float.self)
    sampler.take(line, row: y) { number, light in
      // The mask is symmetric, so mirroring does not affect it.
      mask?.cover(row: number, coverage)
      writer.write(row: number) { pixels in
        CanonicalPixel.encode(light, coverage: mask == nil ? nil : coverage, count: width, into: pixels)
      }
    }
  }
}
