// The locks of one store, in the order of their ranks. A hit waits for none of these, unless it finds a damaged record.

typealias LeftoverLock = LevelLock<LeftoverLevel, Void>
typealias UpkeepLock = LevelLock<UpkeepLevel, UpkeepState>
typealias HeadsLock = LevelLock<HeadsLevel, Void>
typealias EvictionLock = LevelLock<EvictionLevel, VictimQueues>
typealias ExpiryLock = LevelLock<ExpiryLevel, Void>
typealias SyncLock = LevelLock<SyncLevel, Void>
typealias CommitLock = LevelLock<CommitLevel, CommitState>

/// Held by the one check of leftovers that is under way.
enum LeftoverLevel: LockLevel {
  static var rank: UInt { 0 }
}

/// Held while a checkpoint is written, while segments are made and retired, and while bytes are taken from the budget.
enum UpkeepLevel: LockLevel {
  static var rank: UInt { 1 }
}

/// Held while the heads of replayed records are read, once for each opening.
enum HeadsLevel: LockLevel {
  static var rank: UInt { 2 }
}

/// Held from the choice of the next victims to their frame.
enum EvictionLevel: LockLevel {
  static var rank: UInt { 3 }
}

/// Held while due entries are looked at and removed.
enum ExpiryLevel: LockLevel {
  static var rank: UInt { 4 }
}

/// Held while dirty segments are synced, so a thread that holds it and finds no dirty segment knows that all writes are
/// durable.
enum SyncLevel: LockLevel {
  static var rank: UInt { 5 }
}

/// Held while a frame is written and the index changes, so WAL order is the order of changes (rule 1).
enum CommitLevel: LockLevel {
  static var rank: UInt { 6 }
}
