/// The changes of one frame, in their order. At most one of them displaces a given entry. Several operations of one
/// commit can name the same entry, because an entry whose record cannot be read may belong to any key that fits its
/// hash.
struct FrameChanges {
  private(set) var list: [Change] = []
  private var displaced = DisplacedLocations()

  init(capacity: Int) { list.reserveCapacity(capacity) }

  /// Appends the removal of an entry, unless another change displaces that entry already. Returns whether the removal
  /// was appended.
  @discardableResult
  mutating func remove(_ hash: KeyHash, _ location: Location, from index: inout CatalogWriter) -> Bool {
    guard displaced.insert(location) else { return false }
    list.append(.remove(hash, index.displaced(at: location)))
    return true
  }

  /// Appends a put that replaces the entry at `location`, unless another change displaces that entry already.
  mutating func put(_ put: Change.Put, replacing location: Location?, in index: inout CatalogWriter) {
    var put = put
    if let location, displaced.insert(location) { put.displaced = index.displaced(at: location) }
    list.append(.put(put))
  }
}
