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

  /// Enlarges the files of the index for `moreKeys` more keys, and for more than that if the budget allows it.
  /// `moreWords`: the words of changes that no frame has.
  func growCheckpoints(moreKeys: Int, moreWords: Int = 0) throws(StoreError) {
    try upkeepLock.withLock { upkeep throws(StoreError) in
      try gate.requireWritable(closing: true)
      let room = commitLock.withLock { held -> IndexRoom? in
        let needed = held.state.indexRoom(moreKeys: moreKeys, moreWords: moreWords)
        if held.state.checkpoint.room.has(needed) { return nil }
        let wanted = held.state.indexRoom(
          moreKeys: moreKeys + max(1024, held.state.index.keyCount / 4), moreWords: moreWords
        ).united(with: needed)
        return held.state.ledger.admits(wanted.byteCount(beyond: held.state.checkpoint.room)) ? wanted : needed
      }
      if let room { try grow(to: room, upkeep) }
    }
  }

  func grow(to room: IndexRoom, _ upkeep: borrowing UpkeepLock.Held) throws(StoreError) {
    let byteCount = room.fileByteCount
    var difference = 0
    for slot in upkeep.state.checkpoints.slots {
      difference += max(0, roundUp(byteCount, to: 4096) - slot.chargedByteCount)
    }
    difference += max(0, room.blockCount - (upkeep.state.pieces?.blockCount ?? 0)) * Piece.blockByteCount
    try reclaimer.makeRoom(for: difference, upkeep)
    do throws(SystemError) {
      for index in upkeep.state.checkpoints.slots.indices {
        guard let file = upkeep.state.checkpoints.slots[index].file else { continue }
        try file.allocate(byteCount: byteCount)
        try file.sync()
        let growth = try upkeep.state.checkpoints.noteRoom(byteCount, index)
        commitLock.withLock { held in held.state.ledger.add(growth, to: .checkpoints) }
      }
      // The area grows after the files, because a root may name each block of the area.
      if room.blockCount > upkeep.state.pieces?.blockCount ?? .max {
        let growth = try upkeep.state.pieces?.allocate(blockCount: room.blockCount) ?? 0
        commitLock.withLock { held in held.state.ledger.add(growth, to: .checkpoints) }
      }
    } catch {
      throw gate.writeError(error)
    }
    commitLock.withLock { held in held.state.checkpoint.set(room: upkeep.state.indexRoom) }
  }
}
