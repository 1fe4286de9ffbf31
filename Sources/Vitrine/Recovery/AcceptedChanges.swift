// The defense of the log: a frame is stored only if replay can follow it.
extension Catalog {
  /// Whether ``apply(_:sequence:isChecked:)`` can follow the changes of entries, but for want of memory. One lookup for each
  /// entry that goes or moves; many of one URL in one pass.
  package func accepts(_ changes: some Collection<Change>) -> Bool {
    var displaced = DisplacedLocations()
    lazy var carried = Set(changes.compactMap(\.storedPayload))
    var index = changes.startIndex
    while index != changes.endIndex {
      let change = changes[index]
      switch change {
      case .put(let put):
        guard segment(put.location.slot) != nil, put.displaced.map({ displaced.insert($0.location) }) ?? true,
          put.contentLocation == put.location || contents.has(put.content, put.contentLocation)
            || carried.contains(put.contentLocation)
        else { return false }
      case .remove(let hash, _):
        let run = changes[index...].prefix { $0.isRemoval(ofURL: hash) }
        guard run.allSatisfy({ change in change.displaced.map { displaced.insert($0.location) } ?? true }),
          holds(run, of: hash)
        else { return false }
        index = run.endIndex
        continue
      case .moved(let move):
        guard move.key.map({ keys.find($0, move.from) && displaced.insert(move.from) }) ?? true,
          move.content.map({ contents.has($0, move.from) }) ?? true
        else { return false }
      case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired: break
      }
      changes.formIndex(after: &index)
    }
    return true
  }

  /// Whether all entries of one URL are there that removals name.
  private func holds(_ removals: some Collection<Change>, of hash: KeyHash) -> Bool {
    if removals.count < Catalog.manyStyles {
      return removals.allSatisfy { change in
        guard case .remove(let hash, let displaced) = change else { return false }
        return keys.find(hash, displaced.location)
      }
    }
    var missing = Set(removals.compactMap { $0.displaced?.location })
    keys.forEachStyle(hash) { slot, _ in missing.remove(slot.location) }
    return missing.isEmpty
  }
}

extension Change {
  /// Where the payload lies that a put stores.
  fileprivate var storedPayload: Location? {
    guard case .put(let put) = self, put.contentLocation == put.location else { return nil }
    return put.location
  }
}

/// Locations of entries that changes displace. Takes memory from the second one on.
struct DisplacedLocations {
  private var first: Location?
  private var others: Set<Location> = []

  /// False when the location is one of them.
  mutating func insert(_ location: Location) -> Bool {
    guard let first else {
      self.first = location
      return true
    }
    return location != first && others.insert(location).inserted
  }
}
