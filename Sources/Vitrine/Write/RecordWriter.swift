/// Writes records into their reservations.
final class RecordWriter: StorePart {
  let context: StoreContext
  private let gate: WriteGate
  private let signal: UpkeepSignal
  private let meters: Meters

  init(_ context: StoreContext, gate: WriteGate, signal: UpkeepSignal, meters: Meters) {
    self.context = context
    self.gate = gate
    self.signal = signal
    self.meters = meters
  }

  /// Writes a record into its reservation, and abandons the reservation if that fails.
  func write(
    _ head: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, to reservation: Reservation, awaitsSync: Bool
  ) throws(StoreError) {
    // If a sync follows, write with a call: populating pages during a sync is slow.
    let window = awaitsSync ? nil : reservation.window
    if !(window?.store(head, payload, at: reservation.offset) ?? false) {
      do throws(SystemError) {
        let file = try reservation.segment.requireFile()
        try file.write(head, payload, at: reservation.offset)
      } catch {
        abandon(reservation)
        throw gate.writeError(error)
      }
    }
    meters.count(bytesWritten: head.count + payload.count)
  }

  /// Ends a reservation that no frame will name: it is dead space.
  func abandon(_ reservation: Reservation) {
    commitLock.withLock { held in
      held.state[reservation.segment].filled(reservation, isCarried: false)
      held.state[reservation.segment].fill.endReservation()
    }
    // A segment of its own may be dead now.
    signal.noteActivity()
  }
}
