/// The entries of a URL beyond those that its run of the key table holds. Each such URL has a table of its own, by
/// style. So a URL with 100,000 styles costs other URLs nothing. A lookup of one of its styles costs a second probe.
///
/// Guarded by the lock of the shard that owns it.
final class CrowdedURLs {
  /// The most styles of a URL in the run. The others are here.
  static let mostInRun = 32

  private struct Crowd {
    var slots = SlotArray(order: .style)
    /// The number that ``KeyTable/lastChange(_:)`` returns.
    var lastChange: UInt64 = 0
    /// The value of `lastChange` when a check found that no original outdates any entry; nil before such a check.
    var independentSince: UInt64?

    var isIndependent: Bool { independentSince == lastChange }
  }

  private var crowds: [UInt32: Crowd] = [:]
  private(set) var count = 0

  deinit { for var crowd in crowds.values { crowd.slots.free() } }

  /// Returns the number of the URL's last change. Returns nil if the URL has no entries here, or none that an original
  /// may outdate.
  func lastChange(_ hash: KeyHash) -> UInt64? {
    crowds[hash.urlTag].flatMap { $0.isIndependent ? nil : $0.lastChange }
  }

  func noteIndependence(_ hash: KeyHash, since number: UInt64) { crowds[hash.urlTag]?.independentSince = number }

  func count(ofURL hash: KeyHash) -> Int { crowds[hash.urlTag]?.slots.count ?? 0 }

  /// Returns the number of entries of the URL that have the hash's style tag.
  func count(_ hash: KeyHash) -> Int {
    var count = 0
    _ = slot(of: hash) { _ in
      count += 1
      return false
    }
    return count
  }

  func noteChange(_ hash: KeyHash, _ number: UInt64) { crowds[hash.urlTag]?.lastChange = number }

  var isEmpty: Bool { count == 0 }

  /// Returns the first entry that the hash fits and `isMeant` accepts.
  func slot(of hash: KeyHash, where isMeant: (KeySlot) -> Bool) -> UnsafeMutablePointer<KeySlot>? {
    guard let slots = crowds[hash.urlTag]?.slots, let place = slots.position(from: hash.styleWord, hash, where: isMeant)
    else { return nil }
    return slots.slots + place
  }

  /// The most entries here that a lookup passes.
  func runLength(_ hash: KeyHash) -> Int { crowds[hash.urlTag]?.slots.runLength(from: hash.styleWord) ?? 0 }

  /// Calls `body` with every entry of the URL.
  func forEach(ofURL hash: KeyHash, _ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    crowds[hash.urlTag]?.slots.forEach(body)
  }

  /// Calls `body` with every entry of the URL that an original may outdate.
  func forEachDependent(ofURL hash: KeyHash, _ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    guard let crowd = crowds[hash.urlTag], !crowd.isIndependent else { return }
    func visit(_ slot: UnsafeMutablePointer<KeySlot>) {
      if !slot.pointee.flags.contains(.independent) { body(slot) }
    }
    crowd.slots.forEach(visit)
  }

  func forEach(_ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    for crowd in crowds.values { crowd.slots.forEach(body) }
  }

  /// Returns false when memory is short.
  func insert(_ slot: KeySlot) -> Bool {
    guard case .done = crowds[slot.urlTag, default: Crowd()].slots.insert(slot) else { return false }
    count += 1
    return true
  }

  /// Removes the first entry that the hash fits and `isMeant` accepts. Returns false if there is none.
  func remove(_ hash: KeyHash, where isMeant: (KeySlot) -> Bool) -> Bool {
    guard let place = crowds[hash.urlTag]?.slots.position(from: hash.styleWord, hash, where: isMeant) else {
      return false
    }
    crowds[hash.urlTag]?.slots.remove(at: place)
    count -= 1
    if crowds[hash.urlTag]?.slots.count == 0 { free(hash) }
    return true
  }

  private func free(_ hash: KeyHash) {
    guard var crowd = crowds.removeValue(forKey: hash.urlTag) else { return }
    crowd.slots.free()
  }
}
