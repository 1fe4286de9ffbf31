import FuzzSupport

/// Every mutation of every file, at each moment, with and without valid checksums.
enum ImageSeeds {
  static func all() -> [[UInt8]] {
    var seeds: [[UInt8]] = []
    for (moment, files) in SmallStore.shared.moments.map(\.files).enumerated() {
      for file in files.indices {
        for mutation in Mutation.allCases where (file + Int(mutation.rawValue)) % 3 == moment % 3 {
          let mode = UInt8(truncatingIfNeeded: file &* 37 &+ Int(mutation.rawValue))
          seeds.append([
            UInt8(moment), mode, mutation.rawValue | (mode & 0x80), UInt8(file), UInt8(file * 8), 0, 0x9F, 3, 1, 2, 3,
          ])
        }
      }
      seeds.append([UInt8(moment), 0])
    }
    return seeds
  }
}
