/// Keeps the number of mapped segments within its bound.
final class MappedSegments: StorePart {
  let context: StoreContext
  private let gate: WriteGate

  init(_ context: StoreContext, gate: WriteGate) {
    self.context = context
    self.gate = gate
  }

  /// Reads of an unmapped segment after which it is mapped again.
  private static let readsBeforeMapping = 4

  /// Unmaps segments beyond the bound.
  func trimMappings(_ upkeep: borrowing UpkeepLock.Held) {
    _ = commitLock.withLock { held in MappingWindow.unmapExcess(of: &held.state.index, upkeep) }
  }

  /// Maps a pinned segment again if it is read often and no lock must be waited for. Otherwise a later read maps it.
  func mapAgain(_ slot: Int) {
    guard reads == .mapped, !catalog.segments.isMapped(slot),
      catalog.segments.countMiss(slot) >= MappedSegments.readsBeforeMapping, !gate.isForkedChild
    else { return }
    upkeepLock.tryWithLock { upkeep in mapAgain(slot, upkeep) }
  }

  private func mapAgain(_ slot: Int, _ upkeep: borrowing UpkeepLock.Held) {
    // The file may have been cut to its written part. If another program has cut it further, the segment stays
    // unmapped, and reads fail.
    guard let segment = catalog.segments.segment(slot), let storage = segment.storage,
      let file = try? storage.openFile(), let fileByteCount = try? file.status().byteCount,
      let mapping = try? Segment.map(file, byteCount: min(fileByteCount, storage.byteCount))
    else { return }
    let unmapped = commitLock.tryWithLock { held -> [Mapping] in
      guard storage.mapping == nil, held.state[segment].state != .retired,
        held.state[segment].fill.tail <= fileByteCount
      else { return [] }
      storage.map(mapping, held.state.index.segments)
      held.state.index.segments.show(mapping, slot: slot)
      return MappingWindow.unmapExcess(of: &held.state.index, sparing: slot, upkeep)
    }
    withExtendedLifetime(unmapped) {}
  }
}
