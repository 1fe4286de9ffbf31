import Glibc
import Synchronization
import Vitrine

/// The real file system, in which the process kills itself before or after a chosen call: a kill from outside
/// rarely hits the moment between two adjacent calls.
final class DeadlyFileSystem: FileSystem {
  private let base = POSIXFileSystem()
  private let trap: DeadlyTrap

  init(_ moment: DeadlyMoment) { trap = DeadlyTrap(moment) }

  func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    DeadlyDirectory(try base.openDirectory(path, create: create, from: site), "", trap)
  }

  func syncName(ofFolder path: String, from site: CallSite) throws(SystemError) {
    try base.syncName(ofFolder: path, from: site)
  }
}

/// Before or after the n-th call of a kind, on files in a folder of the store ("" for its own).
struct DeadlyMoment {
  enum Call: String, CaseIterable {
    case create, remove, rename, sync, write, allocate, truncate, store
  }

  var call: Call
  var folder: String
  var count: Int
  var isBefore: Bool

  var text: String { "\(call.rawValue):\(folder):\(count):\(isBefore ? "before" : "after")" }

  init(_ call: Call, _ folder: String, count: Int, isBefore: Bool) {
    (self.call, self.folder, self.count, self.isBefore) = (call, folder, count, isBefore)
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, let call = Call(rawValue: parts[0]), let count = Int(parts[2]) else { return nil }
    self.init(call, parts[1], count: count, isBefore: parts[3] == "before")
  }
}

/// Counts the calls.
private final class DeadlyTrap: Sendable {
  private let moment: DeadlyMoment
  private let left: Atomic<Int>

  init(_ moment: DeadlyMoment) {
    self.moment = moment
    left = Atomic(moment.count)
  }

  func before(_ call: DeadlyMoment.Call, _ folder: String) { if moment.isBefore { spring(call, folder) } }
  func after(_ call: DeadlyMoment.Call, _ folder: String) { if !moment.isBefore { spring(call, folder) } }

  private func spring(_ call: DeadlyMoment.Call, _ folder: String) {
    guard call == moment.call, folder == moment.folder, left.wrappingSubtract(1, ordering: .relaxed).newValue == 0
    else { return }
    kill(getpid(), SIGKILL)
  }

  func run<R>(_ call: DeadlyMoment.Call, _ folder: String, _ body: () throws(SystemError) -> R) throws(SystemError) -> R
  {
    before(call, folder)
    let result = try body()
    after(call, folder)
    return result
  }
}

private final class DeadlyDirectory: Directory {
  private let base: any Directory
  private let folder: String
  private let trap: DeadlyTrap

  init(_ base: any Directory, _ folder: String, _ trap: DeadlyTrap) {
    (self.base, self.folder, self.trap) = (base, folder, trap)
  }

  var path: String { base.path }
  var promisesAllocation: Bool { base.promisesAllocation }

  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    DeadlyDirectory(try base.openDirectory(name, create: create, from: site), name, trap)
  }

  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File {
    guard access == .create else { return DeadlyFile(try base.openFile(name, access, from: site), folder, trap) }
    return try trap.run(.create, folder) { () throws(SystemError) in
      DeadlyFile(try base.openFile(name, access, from: site), folder, trap)
    }
  }

  func entries() throws(SystemError) -> [DirectoryEntry] { try base.entries() }

  func remove(_ name: String, from site: CallSite) throws(SystemError) {
    try trap.run(.remove, folder) { () throws(SystemError) in try base.remove(name, from: site) }
  }

  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError) {
    try trap.run(.rename, folder) { () throws(SystemError) in try base.rename(name, to: newName, from: site) }
  }

  func sync(from site: CallSite) throws(SystemError) {
    try trap.run(.sync, folder) { () throws(SystemError) in try base.sync(from: site) }
  }

  func status() throws(SystemError) -> FileStatus { try base.status() }
  func availableByteCount() throws(SystemError) -> Int { try base.availableByteCount() }
  func isStillNamed() -> Bool { base.isStillNamed() }
  func holds(_ file: any File, _ name: String) -> Bool { base.holds((file as? DeadlyFile)?.base ?? file, name) }
}

private final class DeadlyFile: File {
  let base: any File
  private let folder: String
  private let trap: DeadlyTrap

  init(_ base: any File, _ folder: String, _ trap: DeadlyTrap) {
    (self.base, self.folder, self.trap) = (base, folder, trap)
  }

  var path: String { base.path }
  var announcesStores: Bool { true }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    try base.read(into: buffer, at: offset)
  }

  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError) {
    try trap.run(.write, folder) { () throws(SystemError) in try base.write(first, second, at: offset, from: site) }
  }

  func allocate(byteCount: Int, from site: CallSite) throws(SystemError) {
    try trap.run(.allocate, folder) { () throws(SystemError) in try base.allocate(byteCount: byteCount, from: site) }
  }

  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError) {
    try trap.run(.truncate, folder) { () throws(SystemError) in try base.truncate(to: byteCount, from: site) }
  }

  func sync(from site: CallSite) throws(SystemError) {
    try trap.run(.sync, folder) { () throws(SystemError) in try base.sync(from: site) }
  }

  func writeBack(_ range: Range<Int>) throws(SystemError) { try base.writeBack(range) }
  func status() throws(SystemError) -> FileStatus { try base.status() }

  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping {
    try base.map(byteCount: byteCount, writable: writable)
  }

  func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping { try base.mapPrivately(byteCount: byteCount) }
  func tryLock() throws(SystemError) -> Bool { try base.tryLock() }
  func willStore(_ range: Range<Int>) { trap.before(.store, folder) }
  func didStore(_ range: Range<Int>, from site: CallSite) { trap.after(.store, folder) }
}
