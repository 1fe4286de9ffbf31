import Vitrine

/// A simulated and repeatable environment of a store.
package struct SimulatedWorld: Sendable {
  package let disk: SimulatedDisk
  package let clock: SimulatedClock
  package let entropy: SimulatedEntropy
  package let background: SimulatedBackgroundWork
  private let seed: UInt64

  package init(
    seed: UInt64 = 1, disk: SimulatedDisk = SimulatedDisk(), clock: SimulatedClock = SimulatedClock(),
    background: SimulatedBackgroundWork.Mode = .manual
  ) {
    self.disk = disk
    self.clock = clock
    self.seed = seed
    entropy = SimulatedEntropy(seed: seed)
    self.background = SimulatedBackgroundWork(background)
  }

  package var environment: Environment {
    Environment(fileSystem: disk, clock: clock, entropy: entropy, background: background)
  }

  /// Returns the environment in which the next process finds `disk`: the same wall clock, but other random bytes,
  /// since no machine draws the same twice.
  package func rebooted(_ disk: SimulatedDisk) -> SimulatedWorld {
    SimulatedWorld(
      seed: mixed(seed, 0x5EED), disk: disk,
      clock: SimulatedClock(wallMilliseconds: clock.wallMilliseconds()),
      background: background.mode)
  }
}
