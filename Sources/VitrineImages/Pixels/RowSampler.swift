/// Resamples a picture, whose lines arrive from top to bottom, to a smaller or larger one.
///
/// The filter is separable: each source line is scaled to the target's width at once, and kept in a ring while a
/// target line needs it. A target line is computed when its last source line has arrived. So the memory is the
/// target's width times the kernel's height, for any height of the pictures. Single-threaded.
final class RowSampler {
  private let horizontal: TapTable
  private let vertical: TapTable
  private let ring: LinearLines
  /// The target line under computation.
  private let output: LinearLines
  private var outputsDone = 0

  /// Resamples `part` of a picture of size `source` to the size `target`, and mirrors the columns if `mirrorsColumns`
  /// is set. Throws `outOfMemory`.
  init(
    _ kernel: ResamplingKernel, part: PixelRectangle, of source: PixelSize, to target: PixelSize, mirrorsColumns: Bool
  ) throws(ImageError) {
    horizontal = TapTable(
      kernel, start: part.x, length: part.width, sourceCount: source.width, count: target.width,
      isMirrored: mirrorsColumns)
    vertical = TapTable(
      kernel, start: part.y, length: part.height, sourceCount: source.height, count: target.height)
    ring = try LinearLines(width: target.width, count: vertical.linesKept)
    output = try LinearLines(width: target.width, count: 1)
    columns = horizontal.sources
    rows = vertical.sources
  }

  /// The columns and rows of the source that are read.
  let columns: Range<Int>
  let rows: Range<Int>

  /// Adds source line `y`. Each line in `rows` must arrive once, in order. Calls `body` with the number and pixels of
  /// each target line that is now complete.
  func take(_ line: LinearLines, row y: Int, _ body: (Int, UnsafePointer<SIMD4<Float>>) throws -> Void) rethrows {
    precondition(line.width >= columns.upperBound)
    narrow(line.pixels, to: ring.line(y % ring.count))
    while outputsDone < vertical.outputs.count, vertical.outputs[outputsDone].last <= y {
      makeLine(outputsDone)
      try body(outputsDone, output.pixels)
      outputsDone += 1
    }
  }

  private func narrow(_ source: UnsafePointer<SIMD4<Float>>, to target: UnsafeMutablePointer<SIMD4<Float>>) {
    let stride = horizontal.stride
    horizontal.weights.withUnsafeBufferPointer { weights in
      horizontal.outputs.withUnsafeBufferPointer { outputs in
        guard var weight = weights.baseAddress, let output = outputs.baseAddress else { return }
        for x in 0..<outputs.count {
          let pixel = source + Int(output[x].first)
          let count = Int(output[x].count)
          // Two sums, so that an addition need not wait for the previous one.
          var even = pixel[0] * weight[0]
          var odd = SIMD4<Float>.zero
          var tap = 1
          while tap + 1 < count {
            odd += pixel[tap] * weight[tap]
            even += pixel[tap + 1] * weight[tap + 1]
            tap += 2
          }
          if tap < count { odd += pixel[tap] * weight[tap] }
          target[x] = even + odd
          weight += stride
        }
      }
    }
  }

  private func makeLine(_ number: Int) {
    let (first, count) = (Int(vertical.outputs[number].first), Int(vertical.outputs[number].count))
    let (width, kept) = (output.width, ring.count)
    let (lines, target) = (ring.pixels, output.pixels)
    vertical.weights.withUnsafeBufferPointer { weights in
      guard let weight = weights.baseAddress.map({ $0 + number * vertical.stride }) else { return }
      // Four pixels at a time stay in registers, and fill a cache line of each source line.
      var x = 0
      while x + 4 <= width {
        var sums = (SIMD4<Float>.zero, SIMD4<Float>.zero, SIMD4<Float>.zero, SIMD4<Float>.zero)
        var slot = first % kept
        for tap in 0..<count {
          let pixel = lines + (slot * width + x)
          sums.0 += pixel[0] * weight[tap]
          sums.1 += pixel[1] * weight[tap]
          sums.2 += pixel[2] * weight[tap]
          sums.3 += pixel[3] * weight[tap]
          slot = slot + 1 == kept ? 0 : slot + 1
        }
        (target[x], target[x + 1], target[x + 2], target[x + 3]) = sums
        x += 4
      }
      while x < width {
        var sum = SIMD4<Float>.zero
        var slot = first % kept
        for tap in 0..<count {
          sum += lines[slot * width + x] * weight[tap]
          slot = slot + 1 == kept ? 0 : slot + 1
        }
        target[x] = sum
        x += 1
      }
    }
  }
}
