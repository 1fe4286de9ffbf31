/// Steps that plant states which no short sequence of calls reaches: damage, forged records and very long use.
extension StoreProbe {
  /// Points the entry at a location to another location. Returns false if the index does not have the entry.
  package func plantMove(_ hash: KeyHash, from location: Location, to other: Location) -> Bool {
    core.context.commitLock.withLock { held in held.state.index.keyWriter.move(hash, from: location, to: other) }
  }

  /// Gives the entry at a location another stamp. Returns false if the index does not have the entry.
  package func plantStamp(_ stamp: UInt32, _ hash: KeyHash, _ location: Location) -> Bool {
    guard var slot = core.context.catalog.keys.withEntry(hash, location, { $0 }) else { return false }
    slot.stamp = stamp
    return core.context.commitLock.withLock { held in held.state.index.keyWriter.replace(hash, location, with: slot) }
  }

  /// Removes the payload at a location from the index, and leaves the entries that use it. Returns false if no valid
  /// record is there.
  package func plantLossOfPayload(at location: Location) -> Bool {
    guard let digest = record(at: location)?.header.digest else { return false }
    core.context.commitLock.withLock { held in
      held.state.index.contentWriter.removeEntirely(contentHash(of: digest), location)
    }
    return true
  }

  /// Rewrites the head of the record at a location with changed fields and a valid checksum. Returns false if no valid
  /// record is there.
  package func plantHead(at location: Location, _ change: (inout RecordHeader) -> Void) throws(SystemError) -> Bool {
    guard let view = record(at: location) else { return false }
    var header = view.header
    change(&header)
    let forged = ByteBuffer()
    header.encode(
      into: forged, url: view.url, style: view.style, metadata: view.metadata, payload: .init(start: nil, count: 0),
      seed: core.context.catalog.segments.seed(location))
    try core.context.catalog.file(location.slot)?.write(forged.bytes, at: location.offset)
    return true
  }

  /// Sets the clock that stamps uses, as if `count` uses had happened.
  package func setRecencyClock(_ count: UInt64) { core.context.catalog.keys.clock.set(count) }
}
