/// The facts about checkpoints that writers need.
struct CheckpointAccount {
  /// Numbers of checkpoints of this opening: the newest one whose image was begun, and the newest published one.
  private(set) var begun = 0
  private(set) var published = 0
  /// Bytes of the index for which both checkpoint files have room.
  private(set) var room: Int
  /// When the newest published checkpoint was made, in milliseconds since 1970.
  private(set) var madeMilliseconds: Int64?

  init(_ checkpoints: CheckpointSet) {
    room = checkpoints.room
    madeMilliseconds = checkpoints.current.flatMap { checkpoints.slots[$0].header?.made }
  }

  mutating func begin() { begun += 1 }

  mutating func publish(_ number: Int, madeMilliseconds: Int64) {
    published = number
    self.madeMilliseconds = madeMilliseconds
  }

  /// Notes a checkpoint that another process has published.
  mutating func follow(_ other: CheckpointAccount) { madeMilliseconds = other.madeMilliseconds }

  mutating func set(room: Int) { self.room = room }
}
