// Protects the log: a frame is stored only if replay can apply it.
extension Collection<Change> {
  /// Returns whether ``CatalogWriter/apply(_:sequence:isChecked:)`` can make these changes of entries, unless memory is
  /// short. Costs one lookup for each entry that is removed or moved, and for each payload that is shared or moved.
  package func fit(_ index: borrowing CatalogWriter) -> Bool {
    let (keys, contents) = (index.keys, index.contents)
    var displaced = DisplacedLocations()
    lazy var carried = Set(compactMap(\.storedPayload))
    for change in self {
      switch change {
      case .put(let put):
        guard index.segment(put.location.slot) != nil, put.displaced.map({ displaced.insert($0.location) }) ?? true,
          put.contentLocation == put.location || contents.has(put.content, put.contentLocation)
            || carried.contains(put.contentLocation)
        else { return false }
      case .remove(let hash, let gone):
        guard keys.find(hash, gone.location), displaced.insert(gone.location) else { return false }
      case .moved(let move):
        guard move.key.map({ keys.find($0, move.from) && displaced.insert(move.from) }) ?? true,
          move.content.map({ contents.has($0, move.from) }) ?? true
        else { return false }
      case .removeAll, .segmentMade, .segmentOpened, .segmentSealed, .segmentRetired: break
      }
    }
    return true
  }
}

extension Change {
  /// The location of the payload that a put stores.
  fileprivate var storedPayload: Location? {
    guard case .put(let put) = self, put.contentLocation == put.location else { return nil }
    return put.location
  }
}

/// Locations of entries that changes displace. Allocates memory from the second one on.
struct DisplacedLocations {
  private var first: Location?
  private var others: Set<Location> = []

  /// Returns false if the location was inserted before.
  mutating func insert(_ location: Location) -> Bool {
    guard let first else {
      self.first = location
      return true
    }
    return location != first && others.insert(location).inserted
  }
}
