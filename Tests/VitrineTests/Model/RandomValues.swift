@testable import Vitrine

/// The keys and values of random runs: few enough that they recur.
struct RandomValues {
  var random: SeededRandom
  /// About the size of a segment: some values are larger.
  let segmentByteCount: Int

  /// Two styles with one tag: a use of one may be noted for the other, so not if the order of evictions is
  /// compared.
  var hasEqualTags = false

  static let styles = ["original", "square-60@2x", "w320", "t"].map { Style($0)! }
  private static let equalTags = ["original", "square-60@2x", "square-63", "square-320"].map { Style($0)! }
  var styles: [Style] { hasEqualTags ? Self.equalTags : Self.styles }

  mutating func key() -> CacheKey {
    let url: [UInt8]
    switch random.below(40) {
    case 0: url = []
    case 1: url = [0, 1, 0, 255, 128]
    case 2: url = [UInt8](repeating: 0x61, count: 65_536)
    case 3..<10: url = Array("https://other.example/\(random.below(8))?q=é".utf8)
    default: url = Array("https://example.com/\(random.below(25)).jpg".utf8)
    }
    return CacheKey(bytes: url, styles[random.below(styles.count)])
  }

  mutating func value() -> (bytes: [UInt8], layout: BitmapLayout?) {
    if random.chance(20) {
      let format = PixelFormat.allCases.randomElement(using: &random)!
      let layout = BitmapLayout(width: 1 + random.below(60), height: 1 + random.below(20), format: format)!
      return (noise(layout.byteCount, UInt64(random.below(3))), layout)
    }
    var sizes = [0, 1, 63, 64, 65, 191, 192, 300, 1000, 1000, 4096, 5000, 20_000]
    if random.chance(10) { sizes = [segmentByteCount - 300, segmentByteCount, segmentByteCount * 5 / 2] }
    let size = sizes[random.below(sizes.count)]
    let variant = random.below(3)
    return (random.chance(50) ? noise(size, UInt64(variant)) : text(size, variant), nil)
  }

  mutating func namedSource() -> Source { Source([UInt8(random.below(3))])! }

  mutating func options(_ layout: BitmapLayout?, at now: Int64) -> PutOptions {
    var options = PutOptions(layout: layout)
    if random.chance(30) { options.metadata = text(random.below(300), random.below(3)) }
    if random.chance(15) { options.expirationMilliseconds = now + Int64(random.below(20_000)) - 2000 }
    if random.chance(15) { options.durability = random.chance(50) ? .synced : .buffered }
    options.isPageAligned = random.chance(10)
    if options.expirationMilliseconds == nil, random.chance(8) {
      options.slidingExpirationMilliseconds = Int64(1 + random.below(20_000))
    }
    if random.chance(30) { options.source = random.chance(30) ? .none : .named(namedSource()) }
    return options
  }
}
