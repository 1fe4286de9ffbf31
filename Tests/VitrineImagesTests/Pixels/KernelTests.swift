import Testing

@testable import VitrineImages

@Suite struct KernelTests {
  @Test func kernelsHaveTheirShapes() {
    for (distance, weight) in [(0, 1), (0.5, 0.5625), (1, 0), (1.5, -0.0625), (2, 0), (3, 0)] {
      #expect(abs(ResamplingKernel.catmullRom.weight(distance) - weight) < 1e-12)
      #expect(abs(ResamplingKernel.catmullRom.weight(-distance) - weight) < 1e-12)
    }
    #expect(ResamplingKernel.triangle.weight(0.25) == 0.75 && ResamplingKernel.triangle.weight(-1.1) == 0)
    #expect(ResamplingKernel.area.weight(0.5) == 1 && ResamplingKernel.area.weight(-0.5) == 0)
  }

  /// At any position of a target pixel, the weights of the source pixels around it add up to 1.
  @Test(arguments: ResamplingKernel.allCases)
  func weightsSumUpToOne(_ kernel: ResamplingKernel) {
    for step in 0..<100 {
      let place = Double(step) / 100 + 0.001
      let sum = (-4...4).reduce(0) { $0 + kernel.weight(Double($1) - place) }
      #expect(abs(sum - 1) < 1e-9)
    }
    var random = SeededRandom(seed: 9)
    for _ in 0..<300 {
      let (source, count) = (1 + random.below(60), 1 + random.below(60))
      // Some ranges extend beyond the source, as with a border.
      let start = Double(random.below(400) - 100) / 7
      let table = TapTable(
        kernel, start: start, length: Double(1 + random.below(900)) / 9, sourceCount: source, count: count)
      for (index, output) in table.outputs.enumerated() {
        #expect(output.first >= 0 && output.count >= 1 && output.last < source)
        let weights = table.weights[index * table.stride..<index * table.stride + Int(output.count)]
        #expect(abs(weights.reduce(0, +) - 1) < 1e-5 && weights.allSatisfy { abs($0) < 2 })
      }
      #expect(table.sources.lowerBound >= 0 && table.sources.upperBound <= source)
      #expect(table.linesKept <= source)
    }
  }

  @Test(arguments: ResamplingKernel.allCases.filter { $0 != .area })
  func mirroredColumnsAreReversed(_ kernel: ResamplingKernel) {
    let plain = TapTable(kernel, start: 1.3, length: 20.7, sourceCount: 25, count: 9)
    let mirrored = TapTable(kernel, start: 1.3, length: 20.7, sourceCount: 25, count: 9, isMirrored: true)
    #expect(mirrored.outputs.map(\.first) == plain.outputs.map(\.first).reversed())
    #expect(mirrored.outputs.map(\.count) == plain.outputs.map(\.count).reversed())
  }

  @Test func scaleOfOneReadsOnePixel() {
    for kernel in ResamplingKernel.allCases {
      let table = TapTable(kernel, start: 5, length: 10, sourceCount: 20, count: 10)
      #expect(table.outputs.map(\.count) == [Int32](repeating: 1, count: 10))
      #expect(table.outputs.map(\.first) == (5..<15).map(Int32.init) && table.linesKept == 1)
    }
  }
}
