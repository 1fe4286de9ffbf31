// What has to be on the disk before a call returns.
extension StoreCore {
  /// Waits until the frame is durable. 0 stands for a change that a checkpoint has made durable.
  func acknowledgeSynced(_ sequence: UInt64) throws(StoreError) {
    guard let wal else { throw .readOnly }
    let context = ThreadContext.current
    if context.leavesFrames {
      context.frameLeft = max(context.frameLeft ?? 0, sequence)
      return
    }
    if sequence > 0 {
      do throws(SystemError) { try wal.makeDurable(below: sequence + 1) } catch { throw fail(error) }
    }
    try requireNamed()
  }

  /// Rule 3: a durable reference needs a durable payload.
  func makeDurable(payloadAt location: Location) throws(StoreError) {
    if catalog.segments.isVouched(location) { return }
    guard let segment = catalog.segments.segment(location.slot) else { return }
    try sync(segment)
  }

  func sync(_ segment: Segment) throws(StoreError) {
    try withFile(segment) { file throws(SystemError) in try file.sync() }
  }

  /// Runs what makes a segment durable, or helps to: its errors are those of a sync. One at a time: of several the kernel
  /// tells one that it failed, and the others must not go on before that one has said so.
  func withFile(
    _ segment: Segment, _ body: (any File) throws(SystemError) -> Void
  ) throws(StoreError) {
    segment.window?.retreat()
    segment.syncLock.lock()
    defer { segment.syncLock.unlock() }
    try requireNoFailedSync()
    do throws(SystemError) {
      if let file = try segment.openFile() { try body(file) }
    } catch {
      // Without a name it was retired meanwhile; without a descriptor nothing happened, and a later call may succeed.
      if error.code == SystemError.missing, locked({ segment.state == .retired }) { return }
      throw SystemCode.isShortage(error.code) ? .system(error) : fail(error)
    }
  }
}
