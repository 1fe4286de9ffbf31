/// All workloads, with their counts.
enum Catalog {
  private static let pictures = 40_000

  /// The workloads with these names, in the order of the catalog; all of them if there are no names.
  static func workloads(isQuick: Bool, named names: [String]) throws -> [any Workload] {
    let makers = makers(isQuick)
    for name in names where !makers.contains(where: { matches($0.name, name) }) {
      throw Failure("no workload \(name); there are " + makers.map(\.name).joined(separator: ", "))
    }
    return makers.filter { maker in names.isEmpty || names.contains { matches(maker.name, $0) } }.map { $0.make() }
  }

  private static func matches(_ workload: String, _ name: String) -> Bool {
    workload == name || workload.hasPrefix(name + "-")
  }

  private struct Maker {
    let name: String
    let make: () -> any Workload
  }

  private static func makers(_ isQuick: Bool) -> [Maker] {
    let sampleCount = isQuick ? 250 : 25_000
    func count(_ full: Int, _ quick: Int) -> Int { isQuick ? quick : full }
    return [
      Maker(name: "thumbs") {
        ValueWorkload(
          "thumbs", "bitmaps of 40,000 bytes", count: count(25_000, 300), values: Values(byteCount: pictures),
          sampleCount: sampleCount, isBitmap: true)
      },
      Maker(name: "jpegs") {
        let count = count(20_000, 300)
        let sizes = Sizes.lognormal(count: count, median: 30_000, deviation: 0.8, largest: 1 << 20)
        return ValueWorkload(
          "jpegs", "random values, lognormal sizes with a median of 30 KB", count: count,
          values: Values(sizes: sizes), sampleCount: sampleCount)
      },
      Maker(name: "tiny") {
        ValueWorkload(
          "tiny", "random values of 1 KB", count: count(500_000, 1000), values: Values(byteCount: 1000),
          sampleCount: sampleCount)
      },
      Maker(name: "json") {
        let count = count(200_000, 600)
        let sizes = Sizes.uniform(count: count, 2000...8000)
        return ValueWorkload(
          "json", "compressible values of 2 to 8 KB", count: count, values: Values(.json, sizes: sizes),
          sampleCount: sampleCount, isCompressible: true)
      },
      Maker(name: "synced") {
        SyncedWorkload(singleCount: count(2000, 30), sharedCount: count(16_000, 96))
      },
      Maker(name: "churn") {
        ChurnWorkload(
          keyCount: count(100_000, 3000), byteBudget: count(400_000_000, 12_000_000),
          requestCount: count(400_000, 2000))
      },
    ] + scale(isQuick)
  }

  /// Engines that take long are left out of the largest sizes.
  private static func scale(_ isQuick: Bool) -> [Maker] {
    let sizes =
      isQuick
      ? [("1k", 1000), ("20k", 20_000)]
      : [("10k", 10_000), ("100k", 100_000), ("1m", 1_000_000), ("5m", 5_000_000), ("20m", 20_000_000)]
    let all = isQuick ? 1 : 3
    return sizes.enumerated().map { place, size in
      Maker(name: "scale-\(size.0)") {
        ValueWorkload(
          "scale-\(size.0)", "random values of 256 bytes", count: size.1, values: Values(byteCount: 256),
          isReduced: true, kinds: place < all ? EngineKind.allCases : [.raw, .lmdb, .vitrine])
      }
    }
  }
}
