/// Entries of URLs with more styles than stand in one run of the key table: for each such URL a table of its own, by style.
/// So a URL with 100,000 styles costs other URLs nothing, and its own styles a second probe.
///
/// Guarded by the lock of the shard that owns it.
final class CrowdedURLs {
  /// Styles of a URL that stand in the run. The others stand here.
  static let mostInRun = 32

  private struct Crowd {
    var slots = SlotArray(order: .style)
    /// The number of the last change of the URL's entries that ``KeyTable/lastChange(_:)`` tells.
    var lastChange: UInt64 = 0
  }

  private var crowds: [UInt32: Crowd] = [:]
  private(set) var count = 0

  deinit { for var crowd in crowds.values { crowd.slots.free() } }

  /// Nil for a URL that has no entries here.
  func lastChange(_ hash: KeyHash) -> UInt64? { crowds[hash.urlTag]?.lastChange }

  func count(ofURL hash: KeyHash) -> Int { crowds[hash.urlTag]?.slots.count ?? 0 }

  /// Entries of the URL with the hash's tag of a style.
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

  /// The first entry that the hash fits and `isMeant`.
  func slot(of hash: KeyHash, where isMeant: (KeySlot) -> Bool) -> UnsafeMutablePointer<KeySlot>? {
    guard let slots = crowds[hash.urlTag]?.slots, let place = slots.place(from: hash.styleWord, hash, where: isMeant)
    else { return nil }
    return slots.slots + place
  }

  /// Entries that a lookup passes here at most.
  func runLength(_ hash: KeyHash) -> Int { crowds[hash.urlTag]?.slots.runLength(from: hash.styleWord) ?? 0 }

  /// Calls `body` with every entry of the URL.
  func forEach(ofURL hash: KeyHash, _ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    crowds[hash.urlTag]?.slots.forEach(body)
  }

  func forEach(_ body: (UnsafeMutablePointer<KeySlot>) -> Void) {
    for crowd in crowds.values { crowd.slots.forEach(body) }
  }

  /// False when memory is short.
  func insert(_ slot: KeySlot) -> Bool {
    guard case .done = crowds[slot.urlTag, default: Crowd()].slots.insert(slot) else { return false }
    count += 1
    return true
  }

  /// Removes the first entry that the hash fits and `isMeant`. False when there is none.
  func remove(_ hash: KeyHash, where isMeant: (KeySlot) -> Bool) -> Bool {
    guard let place = crowds[hash.urlTag]?.slots.place(from: hash.styleWord, hash, where: isMeant) else { return false }
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
