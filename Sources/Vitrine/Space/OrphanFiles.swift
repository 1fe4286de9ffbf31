/// Files of segments that no frame names, until they are removed.
struct OrphanFiles {
  private(set) var names: [String]

  init(_ names: [String]) { self.names = names }

  var isEmpty: Bool { names.isEmpty }
  func contains(_ name: String) -> Bool { names.contains(name) }
  mutating func add(_ name: String) { names.append(name) }
  /// Forgets the files for which `isRemoved` returns true.
  mutating func forget(_ isRemoved: (String) -> Bool) { names.removeAll(where: isRemoved) }
}
