/// Enlarges the checkpoint files for a larger index.
final class CheckpointRoom: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let reclaimer: Reclaimer

  init(_ context: StoreContext, gate: WriteGate, reclaimer: Reclaimer) {
    self.context = context
    self.gate = gate
    self.reclaimer = reclaimer
  }

  /// Enlarges both checkpoint files for `moreKeys` more keys, and for more than that if the budget allows it.
  func growCheckpoints(moreKeys: Int) throws(StoreError) {
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable(closing: true)
      let byteCount = commitLock.withLock { held -> Int? in
        let needed = held.state.index.checkpointByteCount(moreKeys: moreKeys)
        if needed <= held.state.checkpoint.room { return nil }
        let wanted = held.state.index.checkpointByteCount(moreKeys: moreKeys + max(1024, held.state.index.keyCount / 4))
        return held.state.ledger.admits((wanted - held.state.checkpoint.room) * 2) ? wanted : needed
      }
      if let byteCount { try grow(to: byteCount, upkeep) }
    }
  }

  func grow(to byteCount: Int, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    var difference = 0
    for slot in upkeep.state.checkpoints.slots {
      difference += max(0, roundUp(byteCount, to: 4096) - slot.chargedByteCount)
    }
    try reclaimer.makeRoom(for: difference, upkeep)
    do throws(SystemError) {
      for index in upkeep.state.checkpoints.slots.indices {
        guard let file = upkeep.state.checkpoints.slots[index].file else { continue }
        try file.allocate(byteCount: byteCount)
        try file.sync()
        let growth = try upkeep.state.checkpoints.noteRoom(byteCount, index)
        commitLock.withLock { held in held.state.ledger.add(growth, to: .checkpoints) }
      }
    } catch {
      throw gate.writeError(error)
    }
    commitLock.withLock { held in held.state.checkpoint.set(room: upkeep.state.checkpoints.room) }
  }
}
