/// The state that the upkeep lock guards.
struct UpkeepState {
  var checkpoints: CheckpointSet
  var orphans: OrphanFiles
  var retiring = RetiringSegments()
  var quiet: QuietWatch
  var schedule = UpkeepSchedule()
  var copyBudget = CopyBudget()
  /// How far a read-only opening has followed the writer; nil for a writer.
  var follower: Follower?
}
