/// How far a read-only opening has followed a writer, and the mapping from the writer's segments to its own slots.
///
/// The reader's catalog has slots of its own. If the writer gives a slot to a new segment while a reader still
/// borrows from the old one, the new segment gets another slot here. So no refresh waits for a borrow.
final class Follower {
  var tail: LogTail
  /// The catalog's slot for each slot of the writer.
  private(set) var slots: [Int?]
  /// The catalog's slots of removed segments, until no reader has them pinned.
  var departing: [Int] = []
  /// Frames were read but not entered, or the tail has lost the log: the reader must load the whole store again.
  var mustLoad = false

  /// The number of complete loads after the opening.
  private(set) var loadCount = 0

  /// Starts with a newly loaded catalog, which has the writer's slots.
  init(_ loaded: LoadedStore) {
    tail = LogTail(end: loaded.end)
    slots = loaded.catalog.segments.segments.map { $0.flatMap { $0.state == .retired ? nil : $0.slot } }
  }

  /// Starts again with a newly loaded catalog, whose segments were given the slots of another catalog.
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
