/// The choice of policies at each moment of an exploration.
struct PolicySelection: Sendable {
  /// The number of random disks.
  let mixtures: Int
  let seed: UInt64
  /// The number of unsynced changes to keep, lose and tear one by one.
  let maximumAlone: Int
  /// The same at one moment of eight, if it is larger.
  let maximumAloneNowAndThen: Int
  /// Whether to keep and lose each file and each folder.
  let takesFilesAlone: Bool
}
