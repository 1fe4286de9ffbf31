/// For each pixel of a target line, its source pixels and their weights.
struct TapTable {
  struct Output {
    /// The first source pixel.
    var first: Int32
    var count: Int32

    var last: Int { Int(first) + Int(count) - 1 }
  }

  let outputs: [Output]
  /// The weights: `stride` for each output, of which `count` are used. These sum to 1.
  let weights: [Float]
  let stride: Int

  /// - Parameters:
  ///   - start: The start of the part of the source that becomes the target, in source pixels. The part may extend
  ///     beyond the source; the first or the last pixel of the source fills the rest.
  ///   - length: The length of the part, in source pixels.
  ///   - sourceCount: The number of source pixels.
  ///   - count: The number of target pixels.
  ///   - isMirrored: Whether the last target pixel comes first.
  init(
    _ kernel: ResamplingKernel, start: Double, length: Double, sourceCount: Int, count: Int, isMirrored: Bool = false
  ) {
    let scale = length / Double(count)
    let stretch = max(scale, 1)
    let radius = kernel.radius * stretch
    stride = min(sourceCount, Int(radius * 2) + 2)
    var outputs: [Output] = []
    outputs.reserveCapacity(count)
    var weights = [Float](repeating: 0, count: stride * count)
    var taps: [Double] = []
    for index in 0..<count {
      let wanted = start + (Double(isMirrored ? count - 1 - index : index) + 0.5) * scale
      let center = min(max(wanted, 0), Double(sourceCount))
      var first = TapTable.clamped((center - radius + 0.5).rounded(.down), 0, sourceCount - 1)
      let end = TapTable.clamped((center + radius + 0.5).rounded(.down), first + 1, sourceCount)
      taps.removeAll(keepingCapacity: true)
      for source in first..<min(end, first + stride) {
        taps.append(kernel.weight((Double(source) + 0.5 - center) / stretch))
      }
      // Taps of weight zero are not read. At a scale of 1 this leaves one pixel.
      while taps.count > 1, taps.last == 0 { taps.removeLast() }
      let zeros = min(taps.prefix { $0 == 0 }.count, taps.count - 1)
      first += zeros
      let sum = taps.reduce(0, +)
      outputs.append(Output(first: Int32(first), count: Int32(taps.count - zeros)))
      for (tap, weight) in taps[zeros...].enumerated() {
        // At the end of the source the area kernel may reach no pixel.
        weights[index * stride + tap] = sum > 0 ? Float(weight / sum) : tap == 0 ? 1 : 0
      }
    }
    self.outputs = outputs
    self.weights = weights
  }

  /// The range of source pixels that the outputs read.
  var sources: Range<Int> {
    let first = outputs.min { $0.first < $1.first }?.first ?? 0
    return Int(first)..<(outputs.map(\.last).max() ?? -1) + 1
  }

  /// The number of lines to keep if source lines arrive in order and outputs are computed in order.
  var linesKept: Int {
    var (newest, most) = (0, 1)
    for output in outputs {
      newest = max(newest, output.last)
      most = max(most, newest - Int(output.first) + 1)
    }
    return most
  }

  private static func clamped(_ value: Double, _ low: Int, _ high: Int) -> Int {
    value <= Double(low) ? low : value >= Double(high) ? high : Int(value)
  }
}
