import FuzzSupport

@testable import Vitrine
@testable import VitrineSimulation

/// The keys and values of sequences: few enough that they recur.
enum OperationValues {
  static let styles = ["original", "w320", "t"].map { Style($0)! }
  static let urls = ["a/0", "a/1", "a/2", "b/0", "b/1", ""]
  /// URLs with no other styles, for drawings and bodies in pieces.
  static let drawn = ["drawn/0", "drawn/1"]
  static let bodies = ["body/0", "body/1"]

  static let keys: Set<CacheKey> = Set(
    urls.flatMap { url in styles.map { CacheKey(url, $0) } } + (drawn + bodies).map { CacheKey($0) })

  static func key(_ input: inout FuzzInput) -> CacheKey {
    let byte = Int(input.byte())
    return CacheKey(urls[byte % urls.count], styles[byte / urls.count % styles.count])
  }

  /// Near the limits of records, frames, segments and pieces.
  private static let sizes = [0, 1, 63, 64, 65, 300, 1000, 4000, 5000, 20_000, 33_000, 66_000, 150_000]

  static func bytes(_ input: inout FuzzInput, mayBeHuge: Bool) -> [UInt8] {
    let byte = Int(input.byte())
    let kind = byte / sizes.count
    var size = sizes[byte % sizes.count]
    if mayBeHuge, byte == 255 { size = (1 << 20) + 1 }
    return kind % 3 == 0 ? SmallStore.text(size, kind) : RecordedStore.bytes(size, kind + size)
  }

  static let hour: Int64 = 3_600_000

  /// The clock advances by hours; waiting for space takes seconds of it.
  static func moment(_ input: inout FuzzInput, after now: Int64) -> Int64 {
    now + Int64(input.byte()) * hour + hour / 2
  }

  static func options(_ input: inout FuzzInput, at now: Int64) -> PutOptions {
    let byte = input.byte()
    var options = PutOptions(durability: byte & 1 == 1 ? .synced : .buffered)
    if byte & 2 != 0 { options.metadata = SmallStore.text(Int(input.byte()) * 8, 5) }
    if byte & 4 != 0 { options.expirationMilliseconds = moment(&input, after: now) }
    if byte & 12 == 8 { options.slidingExpirationMilliseconds = 1 << 40 }
    if byte & 16 != 0 { options.isPageAligned = true }
    if byte & 32 != 0 { options.source = .named(Source([byte & 64 | 1])!) }
    if byte & 96 == 64 { options.source = SourceOption.none }
    return options
  }
}
