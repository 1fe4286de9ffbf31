/// Entries by open addressing with linear probing. Capacities are not powers of two: they grow by about an eighth
/// (``growth(shard:)``). So without removals, a large array is 72 % to 85 % full, and an entry takes 19 to 22 bytes.
/// Deleting shifts the run back, so there are no tombstones (Knuth, TAOCP 3, 6.4, algorithm R).
///
/// Invariant: `slots` has room for `capacity` places, `count` of them are taken, and at least one is empty when
/// `capacity` is not 0. The owner guards it by a lock, and calls `free()` once at the end.
struct SlotArray {
  /// The part of an entry that decides its place.
  enum Order {
    case url, style
  }

  /// Above 2^32 places, tags would no longer tell places apart; this stays well below.
  private static let mostPlaces = 1 << 31

  private(set) var slots = UnsafeMutablePointer<KeySlot>(bitPattern: 16)!
  private var memory: PageMemory?
  private(set) var capacity = 0
  private(set) var count = 0
  private let order: Order
  /// By how many 512ths the array grows.
  private let growth: Int

  init(order: Order, growth: Int = 64) { (self.order, self.growth) = (order, growth) }

  /// Returns the growth of one of 64 arrays, an eighth on average. No two grow alike, so they do not all grow at the
  /// same time, and their memory follows the number of entries.
  static func growth(shard: Int) -> Int { 32 + shard }

  mutating func free() {
    memory?.free()
    self = SlotArray(order: order, growth: growth)
  }

  // MARK: Places

  /// Returns the place where a probe for a URL or a style begins; 0 for an array without places.
  @inline(__always)
  func home(_ word: UInt32) -> Int { Int(truncatingIfNeeded: (UInt64(word) &* UInt64(capacity)) >> 32) }

  @inline(__always)
  private func home(of slot: KeySlot) -> Int { home(order == .url ? slot.urlTag : slot.styleWord) }

  @inline(__always)
  func next(_ place: Int) -> Int { place + 1 == capacity ? 0 : place + 1 }

  /// Returns the place of the first entry, from a home on, that the hash fits and `isMeant` accepts.
  @inline(__always)
  func position(from word: UInt32, _ hash: KeyHash, where isMeant: (KeySlot) -> Bool) -> Int? {
    guard capacity > 0 else { return nil }
    var place = home(word)
    while !slots[place].isEmpty {
      let slot = slots[place]
      if slot.matches(hash), isMeant(slot) { return place }
      place = next(place)
    }
    return nil
  }

  /// Whether an array in the order of URLs has an entry with this tag.
  @inline(__always)
  func contains(urlTag: UInt32) -> Bool {
    guard capacity > 0 else { return false }
    var place = home(urlTag)
    while !slots[place].isEmpty {
      if slots[place].urlTag == urlTag { return true }
      place = next(place)
    }
    return false
  }

  /// Returns the number of entries that an unsuccessful lookup passes from a home on.
  func runLength(from word: UInt32) -> Int {
    guard capacity > 0 else { return 0 }
    var (place, length) = (home(word), 0)
    while !slots[place].isEmpty {
      length += 1
      place = next(place)
    }
    return length
  }

  @inline(__always)
  func forEach(_ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    for place in 0..<capacity where !slots[place].isEmpty { body(slots + place) }
  }

  // MARK: Changing

  enum Insertion {
    case done
    /// The URL already has as many entries as it may.
    case crowded
    case noMemory
  }

  /// Enters an entry unless `most` entries of its URL lie between its home and the first empty place.
  @inline(__always)
  mutating func insert(_ slot: KeySlot, most: Int = .max) -> Insertion {
    if count + 1 > capacity * 85 / 100, !grow(to: count + 1) { return .noMemory }
    return fill(slot, most: most) ? .done : .crowded
  }

  @inline(__always)
  private mutating func fill(_ slot: KeySlot, most: Int) -> Bool {
    var place = home(of: slot)
    var left = most
    while !slots[place].isEmpty {
      if slots[place].urlTag == slot.urlTag { left -= 1 }
      place = next(place)
    }
    if left <= 0 { return false }
    slots[place] = slot
    count += 1
    return true
  }

  /// The position of ``append(_:most:_:)``. All places from `home` to the one before `next` are taken.
  struct Cursor {
    fileprivate var home = 0
    fileprivate var next = 0
  }

  /// Enters an entry after those appended before. If entries come in the order of their homes, no run is scanned twice.
  /// Returns false without a change if the array has to grow, if no place is empty up to the end of the array, or if
  /// `most` or more places lie between the home and the next empty place. The caller then calls ``insert(_:most:)`` and
  /// starts a new cursor.
  @inline(__always)
  mutating func append(_ slot: KeySlot, most: Int, _ cursor: inout Cursor) -> Bool {
    if count + 1 > capacity * 85 / 100 { return false }
    let home = home(of: slot)
    var place = home
    if home >= cursor.home {
      cursor.home = home
      place = max(home, cursor.next)
    }
    while place < capacity, !slots[place].isEmpty { place += 1 }
    if place == capacity || place - home >= most { return false }
    slots[place] = slot
    count += 1
    cursor.next = max(cursor.next, place + 1)
    return true
  }

  /// Grows the array to hold `count` entries in all. Returns false when memory is short.
  mutating func grow(to count: Int) -> Bool {
    let wanted = max(capacity + capacity * growth / 512, count * 100 / 85 + 2)
    guard wanted < SlotArray.mostPlaces,
      let memory = PageMemory(byteCount: wanted * 16, isAligned: false, isExact: order == .style, isUsedWhole: true)
    else { return false }
    var grown = SlotArray(order: order, growth: growth)
    grown.memory = memory
    grown.capacity = memory.byteCount / 16
    grown.slots = memory.start.bindMemory(to: KeySlot.self, capacity: grown.capacity)
    forEach { _ = grown.fill($0.pointee, most: .max) }
    self.memory?.free()
    self = grown
    return true
  }

  /// Grows the array for `more` entries, if memory allows.
  mutating func reserve(_ more: Int) {
    if count + more > capacity * 85 / 100 { _ = grow(to: count + more) }
  }

  mutating func remove(at found: Int) {
    var hole = found
    var place = found
    while true {
      place = next(place)
      if slots[place].isEmpty { break }
      // An entry may fill the hole unless its home lies behind the hole (cyclically).
      let home = home(of: slots[place])
      let reaches = hole <= place ? (home <= hole || home > place) : (home <= hole && home > place)
      if reaches {
        slots[hole] = slots[place]
        hole = place
      }
    }
    slots[hole] = KeySlot(word0: 0, word1: 0)
    count -= 1
  }
}

extension KeySlot {
  /// The style's tag in the upper bits, where the hash of a URL has its tag.
  @inline(__always) fileprivate var styleWord: UInt32 { UInt32(truncatingIfNeeded: word0 >> 48) << 16 }
}

extension KeyHash {
  /// The same word as ``KeySlot/styleWord`` of an entry of this hash.
  @inline(__always) var styleWord: UInt32 { UInt32(styleTag) << 16 }
}
