/// Makes a smaller or larger picture of one whose lines it is given from top to bottom.
///
/// Separable: a source line is brought to the target's width at once, and kept in a ring only as long as some target line
/// needs it; a target line is made when the last of its source lines has come. So memory is the target's width times the
/// kernel's height, whatever the pictures' heights are. Of one thread.
final class RowSampler {
  private let horizontal: TapTable
  private let vertical: TapTable
  private let ring: LinearLines
  /// The target line being made.
  private let output: LinearLines
  private var outputsDone = 0

  /// `part` of a picture of size `source` becomes one of size `target`, its columns mirrored if so wanted. Throws
  /// `outOfMemory`.
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

  /// What is read of the source.
  let columns: Range<Int>
  let rows: Range<Int>

  /// Takes source line `y`; of those in `rows` each has to come once, in order. Lends each target line that can be made
  /// now, with its number, to `body`.
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
          // Two sums, so that an addition need not wait for the one before.
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
      // Four pixels at a time stay in registers, and are a cache line of each source line.
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
