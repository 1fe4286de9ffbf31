/// One bitmap on the way from source lines to its memory. Of one thread; lives as long as the memory is lent.
final class StyleDrawing {
  let sampler: RowSampler
  private let writer: UprightWriter
  /// Of the picture as it is stored.
  private let mask: RoundedMask?
  private let width: Int
  private let coverage: PixelMemory

  /// For a source of size `source`, which may be smaller than the picture. Throws `outOfMemory`.
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
      // The shape is the same from either side, so that mirroring does not matter to it.
      mask?.cover(row: number, coverage)
      writer.write(row: number) { pixels in
        CanonicalPixel.encode(light, coverage: mask == nil ? nil : coverage, count: width, into: pixels)
      }
    }
  }
}
