@testable import Vitrine

/// A file system that counts bytes and syncs of the calls through it, and notifies a test before calls.
final class WatchedFileSystem: FileSystem {
  enum Call: Equatable {
    case open(FileAccess)
    case read(offset: Int)
    case willRead(Range<Int>)
    case lock
  }

  private let base: any FileSystem
  private let counts = Guarded<[String: Int]>([:])
  /// Bytes written by calls, and syncs of files and folders.
  let written = Guarded((byteCount: 0, syncCount: 0))
  /// Gets a file's name and the call that follows.
  let beforeCall = Guarded<(@Sendable (_ name: String, _ call: Call) -> Void)?>(nil)

  init(_ base: any FileSystem = POSIXFileSystem()) { self.base = base }

  /// The bytes read from files whose names end like this.
  func bytesRead(_ suffix: String = "") -> Int {
    counts.withLock { $0.filter { $0.key.hasSuffix(suffix) }.reduce(0) { $0 + $1.value } }
  }

  fileprivate func note(_ name: String, _ call: Call) { beforeCall.withLock { $0 }?(name, call) }
  fileprivate func count(_ byteCount: Int, _ name: String) { counts.withLock { $0[name, default: 0] += byteCount } }

  func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    WatchedDirectory(try base.openDirectory(path, create: create, from: site), self)
  }
  func syncName(ofFolder path: String, from site: CallSite) throws(SystemError) {
    written.withLock { $0.syncCount += 1 }
    try base.syncName(ofFolder: path, from: site)
  }
}

private final class WatchedDirectory: Directory {
  let base: any Directory
  let watch: WatchedFileSystem

  init(_ base: any Directory, _ watch: WatchedFileSystem) {
    self.base = base
    self.watch = watch
  }

  var path: String { base.path }
  var promisesAllocation: Bool { base.promisesAllocation }

  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    WatchedDirectory(try base.openDirectory(name, create: create, from: site), watch)
  }
  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File {
    watch.note(name, .open(access))
    return WatchedFile(try base.openFile(name, access, from: site), name, watch)
  }
  func entries() throws(SystemError) -> [DirectoryEntry] { try base.entries() }
  func remove(_ name: String, from site: CallSite) throws(SystemError) { try base.remove(name, from: site) }
  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError) {
    try base.rename(name, to: newName, from: site)
  }
  func sync(from site: CallSite) throws(SystemError) {
    watch.written.withLock { $0.syncCount += 1 }
    try base.sync(from: site)
  }
  func status() throws(SystemError) -> FileStatus { try base.status() }
  func availableByteCount() throws(SystemError) -> Int { try base.availableByteCount() }
  func isStillNamed() -> Bool { base.isStillNamed() }
  func holds(_ file: any File, _ name: String) -> Bool {
    base.holds((file as? WatchedFile)?.base ?? file, name)
  }
}

private final class WatchedFile: File {
  let base: any File
  let name: String
  let watch: WatchedFileSystem

  init(_ base: any File, _ name: String, _ watch: WatchedFileSystem) {
    self.base = base
    self.name = name
    self.watch = watch
  }

  var path: String { base.path }
  var announcesStores: Bool { base.announcesStores }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    watch.note(name, .read(offset: offset))
    let count = try base.read(into: buffer, at: offset)
    watch.count(count, name)
    return count
  }
  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError) {
    watch.written.withLock { $0.byteCount += first.count + second.count }
    try base.write(first, second, at: offset, from: site)
  }
  func allocate(byteCount: Int, from site: CallSite) throws(SystemError) {
    try base.allocate(byteCount: byteCount, from: site)
  }
  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError) {
    try base.truncate(to: byteCount, from: site)
  }
  func sync(from site: CallSite) throws(SystemError) {
    watch.written.withLock { $0.syncCount += 1 }
    try base.sync(from: site)
  }
  func writeBack(_ range: Range<Int>) throws(SystemError) { try base.writeBack(range) }
  func willRead(_ range: Range<Int>) {
    watch.note(name, .willRead(range))
    base.willRead(range)
  }
  func status() throws(SystemError) -> FileStatus { try base.status() }
  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping {
    try base.map(byteCount: byteCount, writable: writable)
  }
  func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping { try base.mapPrivately(byteCount: byteCount) }
  func tryLock() throws(SystemError) -> Bool {
    watch.note(name, .lock)
    return try base.tryLock()
  }
  func willStore(_ range: Range<Int>) { base.willStore(range) }
  func didStore(_ range: Range<Int>, from site: CallSite) { base.didStore(range, from: site) }
}
