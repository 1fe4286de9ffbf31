/// Entries or payloads that a search has passed: their hashes match, but they belong to other keys or digests. They are
/// identified by location, because a change by another thread may shift their order in the table.
struct PassedEntries {
  private static let mostInList = 8
  /// In the order in which they were passed.
  private(set) var locations: [Location] = []
  /// All of them, if there are too many to look through.
  private var set: Set<Location> = []

  func contains(_ location: Location) -> Bool { set.isEmpty ? locations.contains(location) : set.contains(location) }

  mutating func add(_ location: Location) {
    locations.append(location)
    if !set.isEmpty {
      set.insert(location)
    } else if locations.count > PassedEntries.mostInList {
      set = Set(locations)
    }
  }
}
