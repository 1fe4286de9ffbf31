/// How far a read-only opening has followed a writer, and where the writer's segments lie in its catalog.
///
/// The reader's catalog has slots of its own: a slot that the writer gives to a new segment, while somebody here still
/// borrows from the old one, is another slot here. So nobody waits for a borrow.
final class Follower {
  var tail: LogTail
  /// The catalog's slot for each of the writer's.
  private(set) var slots: [Int?]
  /// The catalog's slots of segments that are gone, until nobody has them pinned.
  var departing: [Int] = []
  /// What was read of the log was not entered, or the way along the log is lost: only loading everything helps.
  var mustLoad = false

  /// How often everything was loaded, the opening not counted.
  private(set) var loadCount = 0

  /// A catalog just loaded has the writer's slots.
  init(_ loaded: LoadedStore) {
    tail = LogTail(end: loaded.end)
    slots = loaded.catalog.segments.segments.map { $0.flatMap { $0.state == .retired ? nil : $0.slot } }
  }

  /// A catalog just loaded, whose segments were given the slots of another.
  func begin(_ loaded: LoadedStore, slots: [Int?]) {
    tail = LogTail(end: loaded.end)
    self.slots = slots
    mustLoad = false
    loadCount += 1
  }

  subscript(slot: Int) -> Int? {
    get { slot < slots.count ? slots[slot] : nil }
    set {
      while slots.count <= slot { slots.append(nil) }
      slots[slot] = newValue
    }
  }

  func place(_ location: Location) -> Location? {
    self[location.slot].map { Location(slot: $0, offset: location.offset) }
  }
}
