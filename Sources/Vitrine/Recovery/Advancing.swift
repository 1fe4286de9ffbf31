// How a reader's catalog takes over what a writer did since it last looked: many frames as one step.
extension Catalog {
  /// Makes the changes of several frames together, in a catalog that others are reading. False when memory is short or
  /// a change names what is not there.
  ///
  /// A lookup meanwhile finds a key as it was before all of them, or as it is after: never a state between, whose record
  /// may be gone by now. So payloads are entered first, then each key's last state, and what goes is let go at the end.
  /// There is no `removeAll` among the changes, and no record that was moved.
  func advance(by changes: [Change]) -> Bool {
    for change in changes {
      switch change {
      case .put(let put):
        // A payload that a damaged or missing segment took is missed when it is read.
        _ = claim(put)
        account(put)
      case .segmentOpened, .segmentSealed:
        guard apply(CollectionOfOne(change), sequence: 0, isChecked: false) else { return false }
      case .remove, .removeAll, .segmentMade, .segmentRetired, .moved: break
      }
    }
    guard enter(NetChange(of: changes)) else { return false }
    for change in changes {
      if let displaced = change.displaced { release(displaced, sequence: 0) }
    }
    return true
  }

  /// A key that goes and comes back stands there twice for a moment, rather than not at all.
  private func enter(_ net: NetChange) -> Bool {
    for (location, entry) in net.entered {
      var slot = KeySlot(entry.put.hash, location, entry.put.flags)
      slot.stamp = keys.clock.tick()
      if let former = entry.former, keys.replace(entry.put.hash, former, with: slot) { continue }
      guard keys.insert(slot, entry.put.hash) else { return false }
      keyCount += 1
    }
    for (hash, location) in net.removed where keys.remove(hash, location) { keyCount -= 1 }
    return true
  }
}

/// What is left of many changes when only the last state of each key matters.
private struct NetChange {
  /// Entries that are there in the end, and the one that each takes the place of.
  private(set) var entered: [Location: (put: Change.Put, former: Location?)] = [:]
  /// Entries from before that go.
  private(set) var removed: [(KeyHash, Location)] = []

  init(of changes: [Change]) {
    for change in changes {
      switch change {
      case .put(let put):
        let former = put.displaced.flatMap { takeOut($0.location) }
        entered[put.location] = (put, former)
      case .remove(let hash, let displaced):
        if let former = takeOut(displaced.location) { removed.append((hash, former)) }
      case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired, .moved: break
      }
    }
  }

  /// What stood under the key before all changes, whose entry was at `location` until now.
  private mutating func takeOut(_ location: Location) -> Location? {
    if let entry = entered.removeValue(forKey: location) { return entry.former }
    return location
  }
}

extension Change {
  /// The same change of a catalog that has other slots; nil where it names a place that is not known there.
  func relocated(_ place: (Location) -> Location?) -> Change? {
    func relocated(_ displaced: Displaced) -> Displaced? {
      var moved = displaced
      guard let location = place(displaced.location), let content = place(displaced.contentLocation) else { return nil }
      moved.location = location
      moved.contentLocation = content
      return moved
    }
    switch self {
    case .put(let put):
      guard let location = place(put.location), let content = place(put.contentLocation) else { return nil }
      var moved = put
      moved.location = location
      moved.contentLocation = content
      moved.inline = nil
      if let displaced = put.displaced {
        guard let gone = relocated(displaced) else { return nil }
        moved.displaced = gone
      }
      return .put(moved)
    case .remove(let hash, let displaced):
      return relocated(displaced).map { .remove(hash, $0) }
    case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired, .moved:
      return nil
    }
  }
}
