import Synchronization
import Vitrine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A style in a table, with its text in memory that does not move.
final class KnownStyle {
  let style: Style
  private let start: UnsafeMutableRawPointer
  private let count: Int

  fileprivate init(_ style: Style, _ text: UnsafeRawBufferPointer) {
    self.style = style
    count = text.count
    start = .allocate(byteCount: max(1, text.count), alignment: 1)
    if let source = text.baseAddress { start.copyMemory(from: source, byteCount: text.count) }
  }

  deinit { start.deallocate() }

  @inline(__always)
  fileprivate func hasText(_ text: UnsafeRawBufferPointer) -> Bool {
    guard count == text.count, let other = text.baseAddress else { return false }
    return memcmp(start, other, count) == 0
  }
}

// Invariant: a slot changes once, from zero to a retained KnownStyle, which lives as long as the table. `count` only
// grows.
/// The styles that callers in C have named. A borrow with one of them creates no `Style`.
///
/// Has no lock, because a forked child may use it. Holds a bounded number of styles. For other styles, the caller
/// creates a style at each call.
final class StyleTable: @unchecked Sendable {
  /// The largest number of styles in a table, apart from a few that threads add at the same time.
  static let mostStyles = 128
  private static let slotCount = 512
  private static let probeCount = 8

  let original: Unmanaged<KnownStyle>
  private let slots: UnsafeMutablePointer<Atomic<UInt>>
  private let count = Atomic<Int>(0)

  init() {
    slots = .allocate(capacity: StyleTable.slotCount)
    for index in 0..<StyleTable.slotCount { (slots + index).initialize(to: Atomic(0)) }
    let text = Array(Style.original.name.utf8)
    original = text.withUnsafeBytes { Unmanaged.passRetained(KnownStyle(.original, $0)) }
  }

  deinit {
    for index in 0..<StyleTable.slotCount {
      KnownStyle.reference(slots[index].load(ordering: .acquiring))?.release()
    }
    slots.deallocate()
    original.release()
  }

  /// Returns the style with this text, and adds it if there is room. Returns nil if the text is not a style or the
  /// table is full.
  @inline(__always)
  func find(_ text: UnsafeRawBufferPointer) -> Unmanaged<KnownStyle>? {
    let first = StyleTable.slot(of: text)
    for step in 0..<StyleTable.probeCount {
      let bits = slots[(first &+ step) & (StyleTable.slotCount - 1)].load(ordering: .acquiring)
      guard let known = KnownStyle.reference(bits) else { return add(text, from: first) }
      if known._withUnsafeGuaranteedRef({ $0.hasText(text) }) { return known }
    }
    return nil
  }

  @inline(never)
  private func add(_ text: UnsafeRawBufferPointer, from first: Int) -> Unmanaged<KnownStyle>? {
    guard count.load(ordering: .relaxed) < StyleTable.mostStyles, let style = Style(text) else { return nil }
    let added = Unmanaged.passRetained(KnownStyle(style, text))
    for step in 0..<StyleTable.probeCount {
      let (isAdded, present) = slots[(first &+ step) & (StyleTable.slotCount - 1)].compareExchange(
        expected: 0, desired: UInt(bitPattern: added.toOpaque()), ordering: .acquiringAndReleasing)
      if isAdded {
        count.wrappingAdd(1, ordering: .relaxed)
        return added
      }
      if let known = KnownStyle.reference(present), known._withUnsafeGuaranteedRef({ $0.hasText(text) }) {
        added.release()
        return known
      }
    }
    added.release()
    return nil
  }

  /// A cheap hash of the length, the first eight bytes and the last eight. Texts with equal hashes share slots.
  @inline(__always)
  private static func slot(of text: UnsafeRawBufferPointer) -> Int {
    guard let start = text.baseAddress else { return 0 }
    var bits = UInt64(truncatingIfNeeded: text.count)
    if text.count >= 8 {
      bits ^= start.loadUnaligned(as: UInt64.self)
      bits &*= 0x9E37_79B9_7F4A_7C15
      bits ^= start.loadUnaligned(fromByteOffset: text.count - 8, as: UInt64.self)
    } else {
      for byte in text { bits = bits << 8 ^ UInt64(byte) }
    }
    bits &*= 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: bits >> 55)
  }
}

extension KnownStyle {
  @inline(__always)
  fileprivate static func reference(_ bits: UInt) -> Unmanaged<KnownStyle>? {
    UnsafeRawPointer(bitPattern: bits).map { Unmanaged.fromOpaque($0) }
  }
}

extension Style {
  /// Creates a style from bytes. Returns nil if they are not a valid name.
  init?(_ text: UnsafeRawBufferPointer) {
    guard text.count <= 255 else { return nil }
    self.init(String(decoding: text, as: UTF8.self))
  }
}
