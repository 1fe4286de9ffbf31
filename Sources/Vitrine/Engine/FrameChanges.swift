/// The changes of one frame, in their order. An entry is displaced by one of them at most: an entry whose record cannot be
/// read may be any key's that its hash fits, so several operations of one commit can name it.
struct FrameChanges {
  private(set) var list: [Change] = []
  private var displaced = DisplacedLocations()

  init(capacity: Int) { list.reserveCapacity(capacity) }

  /// Appends the removal of an entry, unless another change displaces that entry already. Answers whether it did.
  @discardableResult
  mutating func remove(_ hash: KeyHash, _ location: Location, from catalog: Catalog) -> Bool {
    guard displaced.insert(location) else { return false }
    list.append(.remove(hash, catalog.displaced(at: location)))
    return true
  }

  /// Appends a put that replaces the entry at `location`, unless another change displaces that entry already.
  mutating func put(_ put: Change.Put, replacing location: Location?, in catalog: Catalog) {
    var put = put
    if let location, displaced.insert(location) { put.displaced = catalog.displaced(at: location) }
    list.append(.put(put))
  }
}
