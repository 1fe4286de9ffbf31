import FuzzSupport

@testable import CacheCtlKit
@testable import Vitrine
@testable import VitrineSimulation

/// The caller's properties of an entry. The put is refused and has no effect, or a get returns them unchanged, also
/// after the store is opened again.
struct GivenEntry {
  private let key: CacheKey
  private let bytes: [UInt8]
  private let options: PutOptions

  private init?(_ input: inout FuzzInput) {
    let url = GivenEntry.text(&input)
    let styleName = String(decoding: GivenEntry.text(&input), as: UTF8.self)
    GivenEntry.checkText(url)
    guard let style = Style(styleName) else {
      claim(!(1...255).contains(styleName.utf8.count) || styleName.utf8.contains { $0 < 0x21 || $0 > 0x7E }, "a style")
      return nil
    }
    claim(style.name == styleName, "a style is another")
    key = CacheKey(bytes: url, style)
    var options = PutOptions(metadata: GivenEntry.text(&input))
    let shape = input.byte()
    if shape & 1 != 0 { options.expirationMilliseconds = Int64(bitPattern: input.hostile()) }
    if shape & 2 != 0 { options.slidingExpirationMilliseconds = Int64(bitPattern: input.hostile()) }
    options.isPageAligned = shape & 4 != 0
    if shape & 8 != 0, let source = Source(input.take(Int(input.byte()) % 20)) { options.source = .named(source) }
    if shape & 16 != 0 { options.durability = .synced }
    if shape & 32 != 0 {
      let format = PixelFormat.allCases[input.number(below: PixelFormat.allCases.count)]
      options.layout = BitmapLayout(
        width: Int(truncatingIfNeeded: input.hostile()), height: Int(truncatingIfNeeded: input.hostile()),
        bytesPerRow: shape & 64 == 0 ? nil : Int(truncatingIfNeeded: input.hostile()), format: format)
    }
    self.options = options
    // A layout may fit the bytes, or not.
    let count = options.layout.map { min($0.byteCount, 40_000) } ?? Int(input.byte())
    bytes = RecordedStore.bytes(count, Int(shape))
  }

  /// Returns bytes of the input, or bytes of one value with a length near the limits.
  private static func text(_ input: inout FuzzInput) -> [UInt8] {
    let count = Int(input.byte())
    if count < 0xF0 { return input.take(count) }
    return [UInt8](repeating: input.byte() | 0x20, count: [254, 255, 256, 65_535, 65_536, 65_537, 0, 1][count & 7])
  }

  static func check(_ input: inout FuzzInput) {
    guard let entry = GivenEntry(&input) else { return }
    EntryTexts.check(entry.key, entry.options.metadata)
    let world = SmallStore.shared.world(0)
    let store = always("opening") { try open(world) }
    let isPut = entry.put(store)
    if isPut { entry.expectFound(store, entry.options) }
    entry.checkLengths(store, Int(truncatingIfNeeded: input.hostile()))
    let changed = entry.change(store, &input)
    always("close") { try store.close() }
    let again = always("opening again") { try open(world) }
    if isPut {
      entry.expectFound(again, changed)
    } else {
      claim(!again.contains(entry.key) || SmallStore.shared.values[entry.key] != nil, "a refused entry is stored")
    }
  }

  private static func open(_ world: SimulatedWorld) throws -> CacheStore {
    try CacheStore.open(at: SmallStore.path, options: StoreOptions(), environment: world.environment)
  }

  private func put(_ store: CacheStore) -> Bool {
    let before = store.count
    do throws(StoreError) {
      try store.put(bytes, for: key, options: options)
    } catch {
      switch error {
      case .invalidArgument, .tooLarge: break
      default: refute("a put is refused for \(error)")
      }
      claim(store.count == before && (!store.contains(key) || SmallStore.shared.values[key] != nil), "a refused put")
      return false
    }
    claim(key.url.count <= RecordHeader.largestURL, "a URL of \(key.url.count) bytes is taken")
    claim(options.metadata.count <= RecordHeader.largestMetadata, "too much metadata is taken")
    claim(options.layout.map { $0.byteCount == bytes.count } ?? true, "a layout that does not fit is taken")
    return true
  }

  /// Begins bodies and drawings of any length. They are refused, or take no room before their bytes arrive.
  private func checkLengths(_ store: CacheStore, _ length: Int) {
    let used = store.statistics().bytesOnDisk
    let writer = try? store.writer(for: CacheKey("a body"), length: length)
    claim(writer == nil || length >= 0 && length <= 1 << 30, "a body of \(length) bytes is begun")
    claim(store.statistics().bytesOnDisk == used, "a declared length has taken room")
    writer?.abandon()
    _ = try? store.draw(CacheKey("a drawing"), width: length, height: length, format: .gray8) { _, _ in }
  }

  /// Changes properties of the entry, and returns the expected ones.
  private func change(_ store: CacheStore, _ input: inout FuzzInput) -> PutOptions {
    var changed = options
    let metadata = GivenEntry.text(&input)
    if (try? store.setMetadata(metadata, for: key)) == true {
      claim(metadata.count <= RecordHeader.largestMetadata, "too much metadata is taken")
      changed.metadata = metadata
    }
    if input.flag() {
      let expiration = input.flag() ? Int64(bitPattern: input.hostile()) : nil
      if (try? store.setExpiration(expiration, for: key)) == true {
        changed.expirationMilliseconds = expiration
        changed.slidingExpirationMilliseconds = nil
      }
    }
    return changed
  }

  private func expectFound(_ store: CacheStore, _ options: PutOptions) {
    let now = store.core.context.environment.clock.wallMilliseconds()
    if let expiration = options.expirationMilliseconds, expiration <= now {
      return claim(store.bytes(key) == nil, "an entry is given that had expired")
    }
    // Time passes only during a wait.
    if let sliding = options.slidingExpirationMilliseconds, sliding < 60_000 { return }
    claim(store.bytes(key) == bytes, "other bytes")
    guard case .found(let info) = store.lookup(key) else { refute("\(store.lookup(key)) instead of an entry") }
    claim(info.key == key && info.metadata == options.metadata && info.layout == options.layout, "another entry")
    claim(info.slidingExpirationMilliseconds == options.slidingExpirationMilliseconds, "another sliding expiry")
    claim(info.expirationMilliseconds == options.expirationMilliseconds, "another expiry")
    if case .named(let source) = options.source { claim(info.source == source && info.hasNamedSource, "a source") }
  }

  private static func checkText(_ bytes: [UInt8]) {
    if let source = Source(bytes) { claim(source.bytes == bytes, "a source is another") }
    if let digest = Digest(String(decoding: bytes, as: UTF8.self)) {
      claim("\(digest)" == String(decoding: bytes, as: UTF8.self).lowercased(), "a digest is another")
    }
  }
}
