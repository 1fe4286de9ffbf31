// How a reader's catalog catches up with a writer: it takes over many frames as one step.
extension CatalogWriter {
  /// Makes the changes of several frames together, in a catalog that other threads are reading. Returns false when
  /// memory is short or a change names an entry or segment that does not exist.
  ///
  /// A concurrent lookup finds a key in its state before all changes or after them, never in a state between, whose
  /// record may no longer exist. So payloads are entered first, copies beside their originals, then each key's last
  /// state; removed entries are released at the end. There is no `removeAll` among the changes, and no location is
  /// used twice: if the writer reuses a slot, the new segment has another slot here.
  mutating func advance(by changes: [Change]) -> Bool {
    let pinned = pinnedLocations(changes)
    for change in changes {
      switch change {
      case .put(let put):
        // A payload lost with a damaged or missing segment is found missing when it is read.
        _ = claim(put)
        account(put)
      case .moved(let move):
        guard claim(move) else { return false }
        if let key = move.key, pinned.contains(move.to) {
          sums.changeHead(ofPinned: key, from: move.headUnits, to: move.copiedHeadUnits)
        }
      case .segmentOpened, .segmentSealed:
        guard apply(CollectionOfOne(change), sequence: 0, isChecked: false) else { return false }
      case .remove, .removeAll, .segmentMade, .segmentRetired: break
      }
    }
    guard enter(NetChange(of: changes)) else { return false }
    let copies = lastCopies(changes)
    for change in changes {
      if case .moved(let move) = change {
        release(move)
      } else if let hash = change.key, var displaced = change.displaced {
        let location = displaced.location
        if let copy = copies[displaced.contentLocation] { displaced.contentLocation = copy }
        release(displaced, of: hash, isPinned: pinned.contains(location), sequence: 0)
      }
    }
    return true
  }

  /// Returns the locations of pinned entries that the changes displace, put or move to.
  private func pinnedLocations(_ changes: [Change]) -> Set<Location> {
    var pinned: Set<Location> = []
    for change in changes {
      if let hash = change.key, let location = change.displaced?.location, isPinned(hash, location) {
        pinned.insert(location)
      }
      switch change {
      case .put(let put): if put.isPinned { pinned.insert(put.location) }
      case .moved(let move):
        if pinned.contains(move.from) || move.key.map({ isPinned($0, move.from) }) ?? false { pinned.insert(move.to) }
      default: break
      }
    }
    return pinned
  }

  /// Enters the copy of a record; the original stays for now. The copied payload takes over the count of keys that
  /// the changes so far have given it at any of its locations.
  private mutating func claim(_ move: Change.Move) -> Bool {
    let end = move.to.offset + (move.copiedHeadUnits + move.payloadUnits) * Unit.byteCount
    guard segments.reaches(move.to.slot, end) else { return false }
    if move.key != nil { segments.addLive(move.to.slot, units: move.copiedHeadUnits) }
    if let content = move.content {
      let count = contents.count(content, move.from)
      guard count > 0, contentWriter.insert(content, move.to, count: count) else { return false }
      segments.addLive(move.to.slot, units: move.payloadUnits)
    }
    segments.raiseTail(move.to.slot, to: end)
    return true
  }

  private mutating func release(_ move: Change.Move) {
    if move.key != nil { takeLive(move.from.slot, units: move.headUnits, sequence: 0) }
    if let content = move.content {
      contentWriter.removeEntirely(content, move.from)
      takeLive(move.from.slot, units: move.payloadUnits, sequence: 0)
    }
  }

  /// Returns the last location of each moved payload, by each location that it was moved from. A displaced entry may
  /// name an earlier location of its payload. The payload is then released at its last location.
  private func lastCopies(_ changes: [Change]) -> [Location: Location] {
    var last: [Location: Location] = [:]
    for case .moved(let move) in changes.reversed() where move.content != nil {
      last[move.from] = last[move.to] ?? move.to
    }
    return last
  }

  /// Enters a key's new entry before the old one is removed: for a moment the key has two entries, rather than
  /// none.
  private mutating func enter(_ net: NetChange) -> Bool {
    for (location, entry) in net.entered {
      guard let put = entry.put else {
        // A failed check may have removed the entry here but not in the writer.
        guard let former = entry.former, keyWriter.move(entry.hash, from: former, to: location) else { return false }
        continue
      }
      var slot = KeySlot(entry.hash, location, put.flags)
      slot.stamp = keys.clock.tick()
      if let former = entry.former, keyWriter.replace(entry.hash, former, with: slot) { continue }
      guard keyWriter.insert(slot, entry.hash) else { return false }
      keyCount += 1
    }
    for (hash, location) in net.removed where keyWriter.remove(hash, location) { keyCount -= 1 }
    return true
  }
}

/// The net effect of many changes: only the last state of each key matters.
private struct NetChange {
  /// An entry that exists after all changes.
  struct Entry {
    let hash: KeyHash
    /// Nil for the entry from before, if only its record has moved.
    let put: Change.Put?
    /// The location of the entry from before, which this one replaces.
    let former: Location?
  }

  private(set) var entered: [Location: Entry] = [:]
  /// Entries from before that are removed.
  private(set) var removed: [(KeyHash, Location)] = []

  init(of changes: [Change]) {
    for change in changes {
      switch change {
      case .put(let put):
        let former = put.displaced.flatMap { takeOut($0.location) }
        entered[put.location] = Entry(hash: put.hash, put: put, former: former)
      case .remove(let hash, let displaced):
        if let former = takeOut(displaced.location) { removed.append((hash, former)) }
      case .moved(let move):
        guard let key = move.key else { continue }
        entered[move.to] =
          entered.removeValue(forKey: move.from) ?? Entry(hash: key, put: nil, former: move.from)
      case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired: break
      }
    }
  }

  /// Returns the location under which the key's entry existed before all changes; it was at `location` until now.
  private mutating func takeOut(_ location: Location) -> Location? {
    if let entry = entered.removeValue(forKey: location) { return entry.former }
    return location
  }
}

extension Change {
  /// Returns the same change for a catalog with other slots; nil if it names a location that is unknown there.
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
    case .moved(var move):
      guard let from = place(move.from), let to = place(move.to) else { return nil }
      move.from = from
      move.to = to
      return .moved(move)
    case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired:
      return nil
    }
  }
}
