/// The engine of one open store, composed of parts. Each part has one concern and the state that the concern needs.
///
/// A part is made from the parts that it uses, so no part uses a part of a group that is made later. `StoreLocks.swift`
/// has the locks, the state that each of them guards, and the order in which threads take them. Comments name the rules
/// of order by their numbers in `Docs/Durability.md`.
final class StoreCore: Sendable {
  private let parts: StoreParts

  /// The parts are ready to serve.
  init(_ parts: StoreParts) { self.parts = parts }

  var context: StoreContext { parts.context }
  var basics: BasicParts { parts.basics }
  var checkpoints: CheckpointParts { parts.checkpoints }
  var space: SpaceParts { parts.space }
  var reads: ReadParts { parts.reads }
  var writes: WriteParts { parts.writes }
  var upkeep: UpkeepParts { parts.upkeep }

  deinit {
    if basics.gate.isForkedChild { return }
    upkeep.leftovers.endTask()
    basics.signal.stopTask()
  }

  /// Starts the work in the background, at the end of an opening. Throws `system` if no thread can be started.
  func startUpkeep() throws(StoreError) {
    try basics.signal.startTask { [weak self] in self?.maintain() ?? .whenWoken }
    try upkeep.leftovers.startCheckingLeftovers()
  }

  /// Does one round of upkeep, or none if nothing has changed since upkeep began to fall asleep. Returns the step that
  /// follows: another call after a delay, or after a wake.
  func maintain() -> NextStep {
    if let next = upkeep.maintainer.lastLook() { return next }
    basics.signal.stayAwake()
    reads.useHints.takeIn()
    upkeep.maintainer.maintain()
    return upkeep.maintainer.nextStep()
  }

  static func open(
    at path: String, options: StoreOptions, environment: Environment
  ) throws(StoreError) -> StoreCore {
    try Opening(path: path, options: options, environment: environment).run()
  }
}
