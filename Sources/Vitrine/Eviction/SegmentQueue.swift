/// The order in which segments are reclaimed, and which of them belong to main.
///
/// Segments are first queued in the order of their opening. A segment that is queued again goes to the end. If it was
/// queued again for its used records, it then belongs to main; if it only could not be emptied, it stays in its queue.
///
/// With sweeps, a segment that is queued again goes to the end of the next sweep, and so does a segment of copies. So
/// kept records are reached again in the order of their age, before newer records. A sweep ends when all of its
/// segments have been reached.
///
/// The order is in memory only: the next opening of the store begins with the order in which the segments were made.
struct SegmentQueue {
  /// A segment with a lower rank comes first.
  struct Rank: Comparable {
    /// The number of the sweep that reaches the segment.
    let sweep: UInt64
    /// The number of the newest segment when this one was put into the queue; its own number at first.
    let newest: UInt64
    /// The position among the segments queued by this opening.
    let turn: UInt64

    static func < (a: Rank, b: Rank) -> Bool { (a.sweep, a.newest, a.turn) < (b.sweep, b.newest, b.turn) }
  }

  private var ranks: [UInt64: Rank] = [:]
  /// Segments of a single record that belong to main. The stream decides for the others.
  private var mainSingles: Set<UInt64> = []
  private var turn: UInt64 = 0
  private let sweeps: Bool
  private var sweep: UInt64 = 0

  init(sweeps: Bool) { self.sweeps = sweeps }

  func rank(_ segment: UInt64) -> Rank { ranks[segment] ?? Rank(sweep: 0, newest: segment, turn: 0) }

  /// Notes that a segment is reclaimed next. The first segment of the next sweep begins that sweep.
  mutating func reach(_ segment: UInt64) { sweep = max(sweep, rank(segment).sweep) }

  func isMain(_ segment: UInt64, _ stream: StreamKind) -> Bool {
    switch stream {
    case .mainOriginals, .mainBitmaps, .returnedOriginals, .returnedBitmaps: true
    case .single: mainSingles.contains(segment)
    case .originals, .bitmaps, .spare: false
    }
  }

  /// Queues a newly opened segment behind all segments below `nextSegment`. With sweeps, a segment of copies goes to
  /// the next sweep, and any other segment to the present one.
  mutating func open(_ segment: UInt64, for stream: StreamKind, before nextSegment: UInt64) {
    put(segment, sweep: sweeps && stream == stream.copies ? sweep + 1 : sweep, before: nextSegment)
  }

  /// Moves a full segment of copies to the end of the next sweep, because the present sweep may have kept some of its
  /// records. Without sweeps, and for other streams, the segment stays where it is.
  mutating func close(_ segment: UInt64, of stream: StreamKind, before nextSegment: UInt64) {
    if sweeps, stream == stream.copies { enqueue(segment, before: nextSegment) }
  }

  /// Puts a segment behind all segments below `nextSegment`. With sweeps, it goes to the next sweep.
  mutating func enqueue(_ segment: UInt64, before nextSegment: UInt64) {
    put(segment, sweep: sweeps ? sweep + 1 : sweep, before: nextSegment)
  }

  private mutating func put(_ segment: UInt64, sweep: UInt64, before nextSegment: UInt64) {
    turn += 1
    ranks[segment] = Rank(sweep: sweep, newest: max(1, nextSegment) - 1, turn: turn)
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
