/// The state that the upkeep lock guards.
struct UpkeepState {
  var checkpoints: CheckpointSet
  /// Nil if the whole index is in each checkpoint.
  var pieces: PieceSet?
  var uses: UseSaver.State
  var orphans: OrphanFiles
  var retiring = RetiringSegments()
  var quiet: QuietWatch
  var schedule = UpkeepSchedule()
  var copyBudget = CopyBudget()
  var keptSegments = KeptSegments()
  /// How far a read-only opening has followed the writer; nil for a writer.
  var follower: Follower?

  /// The room that the files of the index have.
  var indexRoom: IndexRoom {
    IndexRoom(fileByteCount: checkpoints.room, blockCount: pieces?.blockCount ?? 0)
  }
}
