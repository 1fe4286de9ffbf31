/// Opens folders. All file operations of the engine use these three protocols, so the engine runs the same code on a
/// simulated disk as on a real one. Operations that change the disk get the calling line of the engine. The engine
/// calls the forms beside ``CallSite``, which add it.
///
/// All of them may be called from any thread. A caller must not read and write the same range at the same time. Ranges
/// that do not overlap never disturb each other.
package protocol FileSystem: AnyObject, Sendable {
  /// Opens the folder at `path`, following symbolic links in it; creates it (not its parents) if `create`. Its name
  /// is durable after ``syncName(ofFolder:from:)``.
  func openDirectory(_ path: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory
  /// Makes the name of the folder at `path` durable, also if another process made it.
  func syncName(ofFolder path: String, from site: CallSite) throws(SystemError)
}

/// Returns the path of the parent of the folder at `path`.
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
  /// Whether overwriting an allocated block can never fail for lack of space.
  var promisesAllocation: Bool { get }

  /// Opens the folder `name` in this one; makes it (mode 0700) if `create`. Its name is durable after ``sync()``.
  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory
  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File
  /// The entries of the folder, in no order, without `.` and `..`.
  func entries() throws(SystemError) -> [DirectoryEntry]
  func remove(_ name: String, from site: CallSite) throws(SystemError)
  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError)
  /// Makes the folder's entries durable.
  func sync(from site: CallSite) throws(SystemError)
  func status() throws(SystemError) -> FileStatus
  /// Bytes that this process may still allocate on the file system.
  func availableByteCount() throws(SystemError) -> Int
  /// Returns false once the folder was removed, or its path leads to another folder.
  func isStillNamed() -> Bool
  /// Returns false once the folder's path does not lead to a folder that has the open file under `name`.
  func holds(_ file: any File, _ name: String) -> Bool
}

extension Directory {
  package func holds(_ file: any File, _ name: String) -> Bool { isStillNamed() }
}

package enum FileAccess: Sendable {
  case readOnly
  case readWrite
  /// A new file, mode 0600; fails with `EEXIST` if the name exists.
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
  /// Bytes of disk space, as `du` counts them.
  package let allocatedByteCount: Int
  package init(byteCount: Int, allocatedByteCount: Int) {
    self.byteCount = byteCount
    self.allocatedByteCount = allocatedByteCount
  }

  /// Returns the bytes that count against a budget: the allocated ones, or the length if that is larger. A file system
  /// that promises no blocks allocates them when the file is written, too late to make room. Behind `limit`, the most
  /// that the format of the file allows, only allocated blocks count.
  package func chargedByteCount(atMost limit: Int) -> Int {
    let byteCount = min(byteCount, limit)
    return allocatedByteCount >= byteCount ? allocatedByteCount : roundUp(byteCount, to: 4096)
  }
}

/// A file held open. It closes with the last reference to it.
package protocol File: AnyObject, Sendable {
  /// For messages.
  var path: String { get }
  /// Whether stores into a writable mapping must be announced. A constant: read it once.
  var announcesStores: Bool { get }

  /// The system's number of the open file; nil for a file that the system does not know.
  var systemDescriptor: Int32? { get }

  /// Reads until the buffer is full or the file ends; returns the number of bytes read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int
  /// Writes all of `first` and then all of `second`, in one call if the system allows; continues short writes.
  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError)
  /// Writes zeros to `[0, byteCount)`, such that a later change of a few bytes makes the system write few bytes.
  func writeZeros(byteCount: Int, from site: CallSite) throws(SystemError)
  /// Allocates blocks for `[0, byteCount)` and extends the file to at least that length, so that writes there need
  /// no more space. If the file system cannot allocate, only the length is set.
  func allocate(byteCount: Int, from site: CallSite) throws(SystemError)
  func truncate(to byteCount: Int, from site: CallSite) throws(SystemError)
  /// Makes content, length and allocation durable (not the file's name).
  func sync(from site: CallSite) throws(SystemError)
  /// Writes the dirty pages of a range to the disk and waits for it. Makes nothing durable, but shortens a later
  /// sync. That sync may not report an error that this call has reported.
  func writeBack(_ range: Range<Int>) throws(SystemError)
  /// Tells the system that the range is read soon, and does not wait. Several ranges are read from the disk at once.
  func willRead(_ range: Range<Int>)
  func status() throws(SystemError) -> FileStatus
  /// Maps `[0, byteCount)`, shared. The mapping outlives the file handle and the file's name.
  func map(byteCount: Int, writable: Bool) throws(SystemError) -> Mapping
  /// Maps the bytes for changes in memory only: the file never changes. Later changes of the file may or may not
  /// appear.
  func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping
  /// Takes the file's exclusive lock, or returns false if another opening has it. Closing the handle releases it. A
  /// forked child does not keep it.
  func tryLock() throws(SystemError) -> Bool
  /// Releases the file's lock, even if other references to the handle exist, or if a program that is being started has
  /// a copy of the descriptor. Without a lock, this does nothing.
  func unlock()
  /// Announces that `range` of a writable mapping is about to be stored to, and that it was.
  func willStore(_ range: Range<Int>)
  func didStore(_ range: Range<Int>, from site: CallSite)
}

extension File {
  package var systemDescriptor: Int32? { nil }

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

  /// Does nothing if the file has no such call.
  package func writeBack(_ range: Range<Int>) throws(SystemError) {}

  /// Does nothing if the file has no such call.
  package func willRead(_ range: Range<Int>) {}

  /// Does nothing if only the end of the handle releases the lock.
  package func unlock() {}

  /// Copies the file if the system has no better way.
  package func mapPrivately(byteCount: Int) throws(SystemError) -> Mapping { try copied(byteCount: byteCount) }

  /// Returns `[0, byteCount)` in separate memory; zeros where the file cannot be read.
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

  /// Fills `buffer` with up to `count` bytes from `offset` on, fewer if the file ends first.
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

  /// Returns the bytes of `range`, fewer if the file ends first.
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
