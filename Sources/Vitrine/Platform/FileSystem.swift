/// Where folders are opened. Everything the engine does with files goes through these three protocols, so that a run
/// over a simulated disk is the run over a real one. What changes the disk is told from where in the engine it was called:
/// see ``CallSite``, which has the forms that callers use.
///
/// All of them may be called from any thread. A read and a write of the same range at the same time is the caller's
/// mistake; ranges that do not overlap never disturb each other.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens the folder at `path`, following symbolic links on the way to it; creates it (not its parents) on wish. Its name
  /// is durable after ``syncName(ofFolder:from:)``.
  func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory
  /// Makes the name of the folder at `path` durable, whoever made it.
  func syncName(ofFolder path: String, from site: CallSite) throws(SystemError)
}

/// The path of the folder that holds the name at the end of `path`.
func parentPath(of path: String) -> String {
  var parent = path[...]
  while parent.count > 1, parent.last == "/" { parent.removeLast() }
  while let last = parent.last, last != "/" { parent.removeLast() }
  while parent.count > 1, parent.last == "/" { parent.removeLast() }
  return parent.isEmpty ? "." : String(parent)
}

/// A folder held open. Names are single components; none is ever followed through a symbolic link.
package protocol Directory: AnyObject, Sendable {
  /// For messages.
  var path: String { get }
  /// Whether overwriting an allocated block can never fail for want of room.
  var promisesAllocation: Bool { get }

  /// Opens the folder `name` below this one, making it (mode 0700) on wish; its name is durable after ``sync()``.
  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory
  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File
  /// What is in the folder, in no order, without `.` and `..`.
  func entries() throws(SystemError) -> [DirectoryEntry]
  func remove(_ name: String, from site: CallSite) throws(SystemError)
  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError)
  /// Makes the folder's entries durable.
  func sync(from site: CallSite) throws(SystemError)
  func status() throws(SystemError) -> FileStatus
  /// Bytes that this process may still allocate on the file system.
  func availableByteCount() throws(SystemError) -> Int
  /// False once the folder was removed, or its path names another one.
  func isStillNamed() -> Bool
  /// False once the folder's path leads no longer to a folder that has the open file under `name`.
  func holds(_ file: any File, _ name: String) -> Bool
}

extension Directory {
  package func holds(_ file: any File, _ name: String) -> Bool { isStillNamed() }
}

package enum FileAccess: Sendable {
  case readOnly
  case readWrite
  /// A new file, mode 0600; fails with `EEXIST` where there is one.
  case create
}

package struct DirectoryEntry: Sendable, Equatable {
  package enum Kind: Sendable { case file, directory, other }
  package let name: String
  package let kind: Kind
  package init(name: String, kind: Kind) {
    self.name = name
    self.kind = kind
  }
}

package struct FileStatus: Sendable, Equatable {
  /// Length in bytes.
  package let byteCount: Int
  /// Bytes of the disk that it takes, as `du` counts them.
  package let allocatedByteCount: Int
  package init(byteCount: Int, allocatedByteCount: Int) {
    self.byteCount = byteCount
    self.allocatedByteCount = allocatedByteCount
  }

  /// What counts against a budget. A file system that promises no blocks gives a file those of its length when they are
  /// written, which is too late to make room.
  /// Behind `limit`, which the format of the file allows, only blocks count.
  package func chargedByteCount(atMost limit: Int) -> Int {
    let byteCount = min(byteCount, limit)
    return allocatedByteCount >= byteCount ? allocatedByteCount : roundUp(byteCount, to: 4096)
  }
}

/// A file held open; closed when the last reference goes.
package protocol File: AnyObject, Sendable {
  /// For messages.
  var path: String { get }
  /// Whether stores into a writable mapping must be announced. A constant: read it once.
  var announcesStores: Bool { get }

  /// Reads until the buffer is full or the file ends; answers the bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
  /// Writes all of `first` and then all of `second` in one call where the system allows; short writes are carried on.
  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError)
  /// Writes zeros to `[0, byteCount)`, in such a way that a few bytes changed there later make the system write few.
  func writeZeros(byteCount: Int, from site: CallSite) throws(SystemError)
  /// Gives the file blocks for `[0, byteCount)` and at least that length, so that writes there need no more room.
  /// Where the file system cannot allocate, only the length is set.
  func allocate(byteCount: Int, from site: CallSite) throws(SystemError)
  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError)
  /// Makes content, length and allocation durable (not the file's name).
  func sync(from site: CallSite) throws(SystemError)
  /// Brings what is dirty in a range to the disk and waits for it. Makes nothing durable, but leaves a later sync less to
  /// do. Its errors are those of that sync, which may not tell them again.
  func writeBack(_ range: Range<Int>) throws(SystemError)
  func status() throws(SystemError) -> FileStatus
  /// Maps `[0, byteCount)`, shared. The mapping outlives the file handle and the file's name.
  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping
  /// The same bytes to be changed in memory only: the file never is. Whether later changes of the file show is open.
  func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping
  /// Takes the file's exclusive lock, or answers false when another opening has it. It goes with the handle, and is
  /// not kept by a forked child.
  func tryLock() throws(SystemError) -> Bool
  /// Announces that `range` of a writable mapping is about to be stored to, and that it was.
  func willStore(_ range: Range<Int>)
  func didStore(_ range: Range<Int>, from site: CallSite)
}

extension File {
  package func writeZeros(byteCount: Int, from site: CallSite) throws(SystemError) {
    try writeZeros(byteCount: byteCount, pieceByteCount: 1 << 20, from: site)
  }

  func writeZeros(byteCount: Int, pieceByteCount: Int, from site: CallSite) throws(SystemError) {
    guard let memory = PageMemory(byteCount: pieceByteCount) else {
      throw SystemError(code: 12, operation: "write zeros", path: path)
    }
    defer { memory.free() }
    for start in stride(from: 0, to: byteCount, by: pieceByteCount) {
      let zeros = UnsafeRawBufferPointer(start: memory.start, count: min(pieceByteCount, byteCount - start))
      try write(zeros, UnsafeRawBufferPointer(start: nil, count: 0), at: start, from: site)
    }
  }

  /// Nothing, where there is nothing to spare.
  package func writeBack(_ range: Range<Int>) throws(SystemError) {}

  /// A copy, where the system has nothing better.
  package func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping { try copied(byteCount: byteCount) }

  /// `[0, byteCount)` in memory of its own; zeros where the file cannot be read.
  package func copied(byteCount: Int) throws(SystemError) -> Mapping {
    guard byteCount > 0, let memory = PageMemory(byteCount: byteCount) else {
      throw SystemError(code: 12, operation: "copy", path: path)
    }
    let space = UnsafeMutableRawBufferPointer(start: memory.start, count: byteCount)
    for start in stride(from: 0, to: byteCount, by: 256 << 10) {
      let end = min(start + (256 << 10), byteCount)
      _ = try? read(into: UnsafeMutableRawBufferPointer(rebasing: space[start..<end]), at: start)
    }
    return Mapping(start: memory.start, byteCount: byteCount) { memory.free() }
  }

  /// Fills `buffer` with up to `count` bytes from `offset` on, fewer where the file ends before.
  package func read(into buffer: ByteBuffer, count: Int, at offset: Int) throws(SystemError) {
    var failure: SystemError?
    buffer.withSpace(count) { space in
      do throws(SystemError) {
        return try read(into: space, at: offset)
      } catch {
        failure = error
        return 0
      }
    }
    if let failure { throw failure }
  }

  /// The bytes of `range`, fewer where the file ends before.
  package func read(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
    if range.isEmpty { return [] }
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      do throws(SystemError) {
        count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
      } catch {
        failure = error
        count = 0
      }
    }
    if let failure { throw failure }
    return bytes
  }
}
