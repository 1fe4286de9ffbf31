/// The facts about checkpoints that writers need.
struct CheckpointAccount {
  /// Numbers of checkpoints of this opening: the newest one whose image was begun, and the newest published one.
  private(set) var begun = 0
  private(set) var published = 0
  /// See ``PiecePlan/smallBase``.
  let smallBase: Int
  /// The room for the index on the disk.
  private(set) var room: IndexRoom
  /// When the newest published checkpoint was made, in milliseconds since 1970.
  private(set) var madeMilliseconds: Int64?

  init(_ checkpoints: CheckpointSet, _ pieces: PieceSet?) {
    smallBase = pieces?.smallBase ?? PiecePlan.smallBase
    room = IndexRoom(fileByteCount: checkpoints.room, blockCount: pieces?.blockCount ?? 0)
    madeMilliseconds = checkpoints.current.flatMap { checkpoints.slots[$0].header?.made }
  }

  mutating func begin() { begun += 1 }

  mutating func publish(_ number: Int, madeMilliseconds: Int64) {
    published = number
    self.madeMilliseconds = madeMilliseconds
  }

  /// Notes a checkpoint that another opening has published.
  mutating func follow(_ other: CheckpointAccount) { madeMilliseconds = other.madeMilliseconds }

  mutating func set(room: IndexRoom) { self.room = room }
}
