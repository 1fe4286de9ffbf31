/// The order in which segments are reclaimed, and which of them belong to main.
///
/// A segment begins in the order of its opening. A segment that is queued again goes to the end and belongs to main.
/// The order is in memory only: the next opening of the store begins with the order in which the segments were made.
struct SegmentQueue {
  /// A segment with a lower rank comes first.
  struct Rank: Comparable {
    /// The number of the newest segment when this one was put into the queue; its own number at first.
    let newest: UInt64
    /// The position among the segments queued by this opening.
    let turn: UInt64

    static func < (a: Rank, b: Rank) -> Bool { (a.newest, a.turn) < (b.newest, b.turn) }
  }

  private var ranks: [UInt64: Rank] = [:]
  /// Segments of a single record that belong to main. All others show it by their stream.
  private var mainSingles: Set<UInt64> = []
  private var turn: UInt64 = 0

  func rank(_ segment: UInt64) -> Rank { ranks[segment] ?? Rank(newest: segment, turn: 0) }

  func isMain(_ segment: UInt64, _ stream: StreamKind) -> Bool {
    switch stream {
    case .mainOriginals, .mainBitmaps, .returnedOriginals, .returnedBitmaps: true
    case .single: mainSingles.contains(segment)
    case .originals, .bitmaps, .spare: false
    }
  }

  /// Puts a segment behind all segments below `nextSegment`.
  mutating func enqueue(_ segment: UInt64, before nextSegment: UInt64) {
    turn += 1
    ranks[segment] = Rank(newest: max(1, nextSegment) - 1, turn: turn)
  }

  /// Puts a segment of a single record behind all segments below `nextSegment`, in main.
  mutating func enqueueInMain(single segment: UInt64, before nextSegment: UInt64) {
    enqueue(segment, before: nextSegment)
    mainSingles.insert(segment)
  }

  mutating func remove(_ segment: UInt64) {
    ranks[segment] = nil
    mainSingles.remove(segment)
  }
}
