/// How far a read-only opening has followed a writer, and the mapping from the writer's segments to its own slots.
///
/// The reader's catalog has slots of its own. If the writer gives a slot to a new segment while a reader still
/// borrows from the old one, the new segment gets another slot here. So no refresh waits for a borrow.
struct Follower {
  private(set) var tail: LogTail
  /// The catalog's slot for each slot of the writer.
  private(set) var slots: [Int?]
  /// The catalog's slots of removed segments, until no reader has them pinned.
  private(set) var departing: [Int] = []
  /// Frames were read but not entered, or the tail has lost the log: the reader must load the whole store again.
  private(set) var mustLoad = false

  /// The number of complete loads after the opening.
  private(set) var loadCount = 0

  /// Starts with a newly loaded catalog, which has the writer's slots.
  init(_ loaded: LoadedStore) {
    tail = LogTail(end: loaded.log.end)
    slots = loaded.index.writer.segments.all.map { segment in
      segment.flatMap { loaded.index.writer.segments[$0].state == .retired ? nil : $0.slot }
    }
  }

  /// Starts again with a newly loaded catalog, whose segments were given the slots of another catalog.
  mutating func begin(_ loaded: LoadedStore, slots: [Int?]) {
    tail = LogTail(end: loaded.log.end)
    self.slots = slots
    mustLoad = false
    loadCount += 1
  }

  /// Notes that frames are being read: until they are entered, the reader must load the whole store.
  mutating func beginEntering() { mustLoad = true }
  mutating func endEntering() { mustLoad = false }

  /// Notes how far the log has been read.
  mutating func advance(to tail: LogTail) { self.tail = tail }

  mutating func depart(_ slot: Int) { departing.append(slot) }
  /// Forgets the departed segments for which `isFree` returns true.
  mutating func forgetDeparted(_ isFree: (Int) -> Bool) { departing.removeAll(where: isFree) }

  subscript(slot: Int) -> Int? {
    get { slot < slots.count ? slots[slot] : nil }
    set {
      while slots.count <= slot { slots.append(nil) }
      slots[slot] = newValue
    }
  }

  func ownLocation(of location: Location) -> Location? {
    self[location.slot].map { Location(slot: $0, offset: location.offset) }
  }
}
