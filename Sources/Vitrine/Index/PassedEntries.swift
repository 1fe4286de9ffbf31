/// Entries or payloads that a search has passed: their hashes match. Identified by location, because a change by another
/// thread may shift their order in the table.
struct PassedEntries {
  private static let mostInList = 8
  private var list: [Location] = []
  private var rest: Set<Location> = []

  func contains(_ location: Location) -> Bool { list.contains(location) || !rest.isEmpty && rest.contains(location) }

  mutating func add(_ location: Location) {
    if list.count < PassedEntries.mostInList { list.append(location) } else { rest.insert(location) }
  }
}
