import CVitrineSystem

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

func errnoText(_ code: Int32) -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
    guard strerror_r(code, buffer.baseAddress!, buffer.count) == 0 else { return "error" }
    return String(cString: buffer.baseAddress!)
  }
}

/// Repeats the call while it is interrupted.
@inline(__always)
func retrying(_ call: () -> Int32) -> Int32 {
  while true {
    let result = call()
    if result != -1 || errno != EINTR { return result }
  }
}

/// The real file system.
package final class POSIXFileSystem: FileSystem {
  package init() {}

  package func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    if create, mkdir(path, 0o700) != 0, errno != EEXIST {
      throw SystemError(code: errno, operation: "create folder", path: path)
    }
    let descriptor = retrying { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw SystemError(code: errno, operation: "open folder", path: path) }
    return POSIXDirectory(descriptor: descriptor, path: POSIXFileSystem.absolute(path))
  }

  /// Resolved at once, since the process may change its working directory later.
  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    return String(cString: current) + "/" + path
  }

  /// Syncs the parent folder, if it can be opened at all.
  package func syncName(ofFolder path: String, from site: CallSite) throws(SystemError) {
    let name = parentPath(of: path)
    let descriptor = retrying { open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let result = retrying { fsync(descriptor) }
    if result != 0, errno != EINVAL { throw SystemError(code: errno, operation: "sync folder", path: name) }
  }
}

final class POSIXDirectory: Directory {
  private let descriptor: Int32
  let path: String
  let promisesAllocation: Bool

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
    promisesAllocation = vitrine_promises_allocation(descriptor)
  }

  deinit { close(descriptor) }

  private func failure(_ operation: String, _ name: String) -> SystemError {
    SystemError(code: errno, operation: operation, path: "\(path)/\(name)")
  }

  /// Compares the file with the entry at the whole path, in one call to the system.
  func holds(_ file: any File, _ name: String) -> Bool {
    guard let file = file as? POSIXFile else { return true }
    var named = stat()
    if fstatat(AT_FDCWD, "\(path)/\(name)", &named, AT_SYMLINK_NOFOLLOW) != 0 {
      return errno != ENOENT && errno != ENOTDIR
    }
    return file.isSame(named)
  }

  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    if create, mkdirat(descriptor, name, 0o700) != 0, errno != EEXIST { throw failure("create folder", name) }
    let opened = retrying { openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
    guard opened >= 0 else { throw failure("open folder", name) }
    return POSIXDirectory(descriptor: opened, path: "\(path)/\(name)")
  }

  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File {
    let flags =
      switch access {
      case .readOnly: O_RDONLY
      case .readWrite: O_RDWR
      case .create: O_RDWR | O_CREAT | O_EXCL
      }
    vitrine_note_limits()
    // O_NONBLOCK: a pipe or a device planted under one of our names must not hang the open; it is refused below.
    let opened = retrying { openat(descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600) }
    guard opened >= 0 else { throw failure("open", name) }
    var status = stat()
    guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(opened)
      throw SystemError(code: EINVAL, operation: "open (not a plain file)", path: "\(path)/\(name)")
    }
    return POSIXFile(descriptor: opened, path: "\(path)/\(name)")
  }

  func entries() throws(SystemError) -> [DirectoryEntry] {
    let copy = retrying { openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard copy >= 0 else { throw failure("list", "") }
    guard let stream = fdopendir(copy) else {
      close(copy)
      throw failure("list", "")
    }
    defer { closedir(stream) }
    var found: [DirectoryEntry] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw failure("list", "") }
        return found
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      var status = stat()
      let known = fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
      let kind: DirectoryEntry.Kind =
        switch status.st_mode & S_IFMT {
        case S_IFREG where known: .file
        case S_IFDIR where known: .directory
        default: .other
        }
      found.append(DirectoryEntry(name: name, kind: kind))
    }
  }

  func remove(_ name: String, from site: CallSite) throws(SystemError) {
    guard unlinkat(descriptor, name, 0) == 0 else { throw failure("remove", name) }
  }

  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError) {
    guard renameat(descriptor, name, descriptor, newName) == 0 else { throw failure("rename", name) }
  }

  func sync(from site: CallSite) throws(SystemError) {
    guard retrying({ fsync(descriptor) }) == 0 else { throw failure("sync folder", "") }
  }

  func status() throws(SystemError) -> FileStatus {
    try fileStatus(descriptor, path)
  }

  func availableByteCount() throws(SystemError) -> Int {
    var status = statvfs()
    guard retrying({ fstatvfs(descriptor, &status) }) == 0 else { throw failure("examine", "") }
    return Int(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
  }

  func isStillNamed() -> Bool {
    var held = stat()
    var named = stat()
    if fstat(descriptor, &held) != 0 { return true }
    if stat(path, &named) != 0 { return errno != ENOENT && errno != ENOTDIR }
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino
  }
}

private func fileStatus(_ descriptor: Int32, _ path: String) throws(SystemError) -> FileStatus {
  var status = stat()
  guard fstat(descriptor, &status) == 0 else { throw SystemError(code: errno, operation: "examine", path: path) }
  return FileStatus(byteCount: Int(status.st_size), allocatedByteCount: Int(status.st_blocks) * 512)
}

final class POSIXFile: File {
  private let descriptor: Int32
  let path: String
  let announcesStores = false
  var systemDescriptor: Int32? { descriptor }
  /// Set once locked: a forked child closes the lock's descriptor at once, and must not close that number again.
  private let lockGeneration = Guarded<UInt32?>(nil)

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    unlock()
    // In a forked child the descriptor was closed at once, and its number may belong to another file by now.
    if lockGeneration.withLock({ $0 }) == nil { close(descriptor) }
  }

  private func failure(_ operation: String, _ code: Int32 = errno) -> SystemError {
    SystemError(code: code, operation: operation, path: path)
  }

  func isSame(_ other: stat) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) != 0 || (status.st_dev == other.st_dev && status.st_ino == other.st_ino)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    var done = 0
    while done < buffer.count {
      let got = pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
      if got < 0 {
        if errno == EINTR { continue }
        throw failure("read")
      }
      if got == 0 { break }
      done += got
    }
    return done
  }

  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError) {
    var first = first
    var second = second
    var offset = offset
    while first.count + second.count > 0 {
      if first.count == 0 { swap(&first, &second) }
      let written = vitrine_write2(
        descriptor, first.baseAddress, first.count, second.baseAddress, second.count, Int64(offset))
      if written < 0 { throw failure("write", Int32(-written)) }
      if written == 0 { throw failure("write", ENOSPC) }
      let step = Int(written)
      offset += step
      let ofFirst = min(step, first.count)
      first = UnsafeRawBufferPointer(rebasing: first[ofFirst...])
      second = UnsafeRawBufferPointer(rebasing: second[(step - ofFirst)...])
    }
  }

  /// Writes page by page: the system caches a large write in large folios. Then the accounts of dirty memory, and
  /// stores through a mapping, count a whole folio for each changed byte.
  func writeZeros(byteCount: Int, from site: CallSite) throws(SystemError) {
    try writeZeros(byteCount: byteCount, pieceByteCount: 4096, from: site)
  }

  func allocate(byteCount: Int, from site: CallSite) throws(SystemError) {
    let result = vitrine_allocate(descriptor, Int64(byteCount))
    if result == 0 { return }
    guard result == EOPNOTSUPP || result == ENOSYS else { throw failure("allocate", result) }
    if try status().byteCount < byteCount { try truncate(to: byteCount, from: site) }
  }

  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError) {
    let result = vitrine_truncate(descriptor, Int64(byteCount))
    if result != 0 { throw failure("truncate", result) }
  }

  func sync(from site: CallSite) throws(SystemError) {
    let result = vitrine_sync(descriptor)
    if result != 0 { throw failure("sync", result) }
  }

  func writeBack(_ range: Range<Int>) throws(SystemError) {
    let result = vitrine_write_back(descriptor, Int64(range.lowerBound), Int64(range.count))
    if result != 0 { throw failure("write back", result) }
  }

  func willRead(_ range: Range<Int>) {
    #if os(Linux)
      _ = posix_fadvise(descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_WILLNEED)
    #else
      var advice = radvisory(ra_offset: off_t(range.lowerBound), ra_count: Int32(clamping: range.count))
      _ = fcntl(descriptor, F_RDADVISE, &advice)
    #endif
  }

  func status() throws(SystemError) -> FileStatus { try fileStatus(descriptor, path) }

  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping {
    let mapping = try map(byteCount, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED)
    #if os(Linux)
      if writable { madvise(mapping.start, byteCount, Int32(MADV_DONTFORK)) }
    #endif
    return mapping
  }

  func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping {
    try map(byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE)
  }

  private func map(_ byteCount: Int, _ protection: Int32, _ flags: Int32) throws(SystemError) -> Mapping {
    guard byteCount > 0 else { throw failure("map", EINVAL) }
    guard let start = mmap(nil, byteCount, protection, flags, descriptor, 0), start != MAP_FAILED else {
      throw failure("map")
    }
    nonisolated(unsafe) let mapped = start
    return Mapping(start: start, byteCount: byteCount, showsPageCache: true) { munmap(mapped, byteCount) }
  }

  func tryLock() throws(SystemError) -> Bool {
    lockGeneration.withLock { $0 = vitrine_fork_generation() }
    let result = vitrine_lock(descriptor)
    if result == 0 { return true }
    lockGeneration.withLock { $0 = nil }
    if result == EWOULDBLOCK { return false }
    throw failure("lock", result)
  }

  func unlock() {
    lockGeneration.withLock { generation in
      guard generation == vitrine_fork_generation() else { return }
      vitrine_unlock(descriptor)
      generation = nil
    }
  }

  func willStore(_ range: Range<Int>) {}
  func didStore(_ range: Range<Int>, from site: CallSite) {}
}
