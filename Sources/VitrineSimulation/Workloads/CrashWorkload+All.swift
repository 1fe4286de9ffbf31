extension CrashWorkload {
  /// The workloads of the explorer: all operations of a store.
  public static let all: [CrashWorkload] = [
    EntryWorkloads.making, EntryWorkloads.puts, EntryWorkloads.extremes, EntryWorkloads.sharing,
    EntryWorkloads.removals, BatchWorkloads.batches, BatchWorkloads.largeBatch, EntryWorkloads.metadata,
    EntryWorkloads.sources, EntryWorkloads.crowd, ConditionWorkloads.conditions,
    BodyWorkloads.bodies, BodyWorkloads.drawings,
    EvictionWorkloads.eviction, EvictionWorkloads.cleaning, EvictionWorkloads.sieve, EvictionWorkloads.policies,
    EvictionWorkloads.scarce, EvictionWorkloads.entries, EvictionWorkloads.limits,
    FileWorkloads.filling, FileWorkloads.compaction, FileWorkloads.logTurns, FileWorkloads.bursts,
    EvictionWorkloads.trims, BudgetWorkloads.budgets, BudgetWorkloads.largeBudgets, BudgetWorkloads.giants,
    OpeningWorkloads.reopening, ThreadWorkloads.threads, OpeningWorkloads.readers, ExpiryWorkloads.ages,
    ExpiryWorkloads.shortSessions, OpeningWorkloads.repair, OpeningWorkloads.mending, UpgradeWorkloads.upgrade,
    IndexWorkloads.pieces, FailingDiskWorkloads.failedSyncs, FailingDiskWorkloads.fullDisk,
  ]
}
