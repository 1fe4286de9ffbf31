/// Writes records into their reservations.
final class RecordWriter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let meters: Meters

  init(_ context: StoreContext, gate: WriteGate, meters: Meters) {
    self.context = context
    self.gate = gate
    self.meters = meters
  }

  /// Writes a record into its reservation, and gives the room up if that fails.
  func fill(
    _ reservation: Reservation, _ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, isCarried: Bool,
    awaitsSync: Bool = false
  ) throws(StoreError) {
    var failed: SystemError?
    // Not through the mapping if a sync of the frame follows: beside such a sync, bringing in pages is slow.
    let window = awaitsSync ? nil : reservation.window
    if !(window?.store(head, payload, at: reservation.offset) ?? false) {
      do throws(SystemError) {
        let file = try reservation.segment.requireFile()
        try file.write(head, payload, at: reservation.offset)
      } catch {
        failed = error
      }
    }
    commitLock.withLock { held in
      reservation.segment.filled(reservation, isCarried: isCarried)
      if failed != nil { reservation.segment.pendingCount -= 1 }
    }
    meters.bytesWritten.wrappingAdd(head.count + payload.count, ordering: .relaxed)
    if let failed { throw gate.writeError(failed) }
  }
}
