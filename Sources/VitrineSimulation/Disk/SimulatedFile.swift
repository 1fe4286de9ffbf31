import Vitrine

/// Keeps a file's blocks while a handle or a mapping needs them. Its last reference must not be released under the
/// disk's lock, which the deinit takes.
final class FileHold: Sendable {
  let disk: SimulatedDisk
  let file: LiveFile

  /// Takes over a hold that the caller has counted under the lock, so that the file cannot be freed in between.
  init(disk: SimulatedDisk, alreadyCountedOn file: LiveFile) {
    self.disk = disk
    self.file = file
  }

  deinit { disk.core.withLock { $0.loseHold(on: file) } }
}

/// A handle on a file of a simulated disk. Owns the file's lock once ``tryLock()`` has returned true.
final class SimulatedFile: File {
  let path: String
  let announcesStores = true
  private let hold: FileHold
  private let handle: UInt64
  private let isWritable: Bool

  init(hold: FileHold, handle: UInt64, isWritable: Bool, path: String) {
    self.hold = hold
    self.handle = handle
    self.isWritable = isWritable
    self.path = path
  }

  deinit {
    hold.disk.core.withLock { _ in hold.file.unlock(by: handle) }
  }

  private func withCore<R>(_ body: (inout DiskCore, LiveFile) throws(SystemError) -> R) throws(SystemError)
    -> R
  {
    try hold.disk.core.withLock { (core) throws(SystemError) -> R in try body(&core, hold.file) }
  }

  private func change(
    from site: CallSite, _ body: (inout DiskCore, LiveFile) throws(SystemError) -> Void
  ) throws(SystemError) {
    try hold.disk.change(from: site) { (core) throws(SystemError) in try body(&core, hold.file) }
  }

  private func checkWritable(_ operation: String) throws(SystemError) {
    if !isWritable { throw SystemError(code: ErrorCode.badDescriptor, operation: operation, path: path) }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try withCore { (core, file) throws(SystemError) in try core.read(file, into: buffer, at: offset, path) }
  }

  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError) {
    try checkWritable("write")
    try change(from: site) { (core, file) throws(SystemError) in try core.write(file, first, second, at: offset, path) }
  }

  func allocate(byteCount: Int, from site: CallSite) throws(SystemError) {
    try checkWritable("allocate")
    try change(from: site) { (core, file) throws(SystemError) in try core.allocate(file, byteCount, path) }
  }

  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError) {
    try checkWritable("truncate")
    try change(from: site) { (core, file) throws(SystemError) in try core.truncate(file, to: byteCount, path) }
  }

  func sync(from site: CallSite) throws(SystemError) {
    let (begun, meanwhile) = (hold.disk.operationCount, hold.disk.takeDuringSync())
    if let meanwhile, !meanwhile.isDurable { meanwhile.body() }
    try change(from: site) { (core, file) throws(SystemError) in try core.syncFile(file, begun: begun, path) }
    if let meanwhile, meanwhile.isDurable { meanwhile.body() }
  }

  func writeBack(_ range: Range<Int>) throws(SystemError) {
    try withCore { (core, file) throws(SystemError) in try core.writeBack(file, path) }
  }

  func status() throws(SystemError) -> FileStatus {
    try withCore { (core, file) throws(SystemError) in
      _ = try core.begin(.status, path)
      return FileStatus(
        byteCount: file.byteCount, allocatedByteCount: file.content.allocatedPageCount * Page.byteCount)
    }
  }

  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping {
    if writable, !isWritable {
      throw SystemError(code: ErrorCode.permissionDenied, operation: "map", path: path)
    }
    let memory = try withCore { (core, file) throws(SystemError) -> FileMemory in
      let memory = try core.map(file, byteCount, path)
      file.hold()
      return memory
    }
    let mappingHold = FileHold(disk: hold.disk, alreadyCountedOn: hold.file)
    return Mapping(start: memory.start, byteCount: byteCount) {
      withExtendedLifetime((memory, mappingHold)) {}
    }
  }

  func tryLock() throws(SystemError) -> Bool {
    try withCore { (core, file) throws(SystemError) in try core.tryLock(file, for: handle, path) }
  }

  func willStore(_ range: Range<Int>) {
    hold.disk.core.withLock { $0.willStore(hold.file, range, path) }
  }

  func didStore(_ range: Range<Int>, from site: CallSite) {
    // A stopped disk refuses the store, and this call cannot report it.
    try? change(from: site) { (core, file) throws(SystemError) in try core.didStore(file, range, path) }
  }
}
