import Testing

@testable import Vitrine

/// A disk in memory with its whole content as a value: tests change it and open it again, thousands of times a
/// minute. Syncs only run a test's hook.
final class MemoryDisk: FileSystem, @unchecked Sendable {
  /// Files by their paths below the store's folder, such as `wal/0.wal`.
  typealias Image = [String: [UInt8]]

  static let folders = ["", "wal", "checkpoints", "segments"]
  private let files = Guarded<[String: MemoryFile]>([:])
  private let hasFolders: Guarded<Bool>
  /// Called with a file's path while it is being synced; the sync rethrows its error.
  let onSync = Guarded<(@Sendable (String) throws(SystemError) -> Void)?>(nil)
  /// Called with a file's path and the offset before a write.
  let onWrite = Guarded<(@Sendable (_ path: String, _ offset: Int) -> Void)?>(nil)
  /// The bytes that reads of files have returned so far.
  let readByteCount = Guarded(0)
  /// The size of the disk in bytes. It only determines the free bytes; if it is nil, 1 GiB is always free.
  let capacity = Guarded<Int?>(nil)
  /// The next bytes of removed files that do not become free.
  let hiddenByteCount = Guarded(0)
  /// Called with a file's path and the offset before a read.
  let onRead = Guarded<(@Sendable (_ path: String, _ offset: Int) -> Void)?>(nil)

  init(_ image: Image = [:]) {
    hasFolders = Guarded(!image.isEmpty)
    for (path, bytes) in image {
      let file = MemoryFile(path: path, self)
      file.replace(bytes)
      files.withLock { $0[path] = file }
    }
  }

  /// The free bytes; less than 0 if the files are larger than the disk.
  var availableByteCount: Int {
    guard let capacity = capacity.withLock({ $0 }) else { return 1 << 30 }
    return files.withLock { files in files.values.reduce(capacity) { $0 - $1.count } }
  }

  /// The present content of the disk.
  var image: Image { files.withLock { $0 }.mapValues { $0.content } }

  func openDirectory(_ path: String, create: Bool, from site: CallSite) -> any Directory {
    MemoryDirectory(disk: self, name: "")
  }

  func syncName(ofFolder path: String, from site: CallSite) {}

  fileprivate func madeFolder() { hasFolders.withLock { $0 = true } }
  fileprivate var isMade: Bool { hasFolders.withLock { $0 } }
  fileprivate func all<R>(_ body: (inout [String: MemoryFile]) -> R) -> R { files.withLock { body(&$0) } }
}

private final class MemoryDirectory: Directory, Sendable {
  let disk: MemoryDisk
  let name: String

  init(disk: MemoryDisk, name: String) {
    self.disk = disk
    self.name = name
  }

  var path: String { "memory/" + name }
  var promisesAllocation: Bool { true }

  private func full(_ file: String) -> String { name.isEmpty ? file : "\(name)/\(file)" }

  func openDirectory(_ name: String, create: Bool, from site: CallSite) throws(SystemError) -> any Directory {
    if create { disk.madeFolder() }
    guard disk.isMade, MemoryDisk.folders.contains(name) else {
      throw SystemError(code: 2, operation: "open folder", path: name)
    }
    return MemoryDirectory(disk: disk, name: name)
  }

  func openFile(_ name: String, _ access: FileAccess, from site: CallSite) throws(SystemError) -> any File {
    let path = full(name)
    let (file, isThere) = disk.all { files -> (MemoryFile, Bool) in
      if let file = files[path] { return (file, true) }
      let file = MemoryFile(path: path, disk)
      if access == .create { files[path] = file }
      return (file, false)
    }
    if isThere, access == .create { throw SystemError(code: 17, operation: "open", path: path) }
    if !isThere, access != .create { throw SystemError(code: 2, operation: "open", path: path) }
    return MemoryHandle(file)
  }

  func entries() -> [DirectoryEntry] {
    var names = disk.all { files in
      files.keys.compactMap { path -> String? in
        let parts = path.split(separator: "/").map(String.init)
        if name.isEmpty { return parts.count == 1 ? parts[0] : nil }
        return parts.count == 2 && parts[0] == name ? parts[1] : nil
      }
    }.map { DirectoryEntry(name: $0, kind: .file) }
    if name.isEmpty, disk.isMade {
      names += MemoryDisk.folders.dropFirst().map { DirectoryEntry(name: $0, kind: .directory) }
    }
    return names
  }

  func remove(_ name: String, from site: CallSite) throws(SystemError) {
    guard let removed = disk.all({ $0.removeValue(forKey: full(name)) }) else {
      throw SystemError(code: 2, operation: "remove", path: name)
    }
    let hidden = disk.hiddenByteCount.withLock { hidden in
      let count = min(hidden, removed.count)
      hidden -= count
      return count
    }
    disk.capacity.withLock { if $0 != nil { $0! -= hidden } }
  }

  func rename(_ name: String, to newName: String, from site: CallSite) throws(SystemError) {
    disk.all { files in files[full(newName)] = files.removeValue(forKey: full(name)) }
  }

  func sync(from site: CallSite) {}
  func status() -> FileStatus { FileStatus(byteCount: 4096, allocatedByteCount: 4096) }
  func availableByteCount() -> Int { max(0, disk.availableByteCount) }
  func isStillNamed() -> Bool { true }
}

/// One file's bytes, at an address that never changes, as mappings need it.
///
/// Invariant: `[0, count)` is the file; all of `memory` is readable until the last handle and mapping are released.
private final class MemoryFile: @unchecked Sendable {
  static let largest = 32 << 20
  let path: String
  weak var disk: MemoryDisk?
  let memory = PageMemory(byteCount: largest)!
  private let state = Guarded((count: 0, isLocked: false))

  init(path: String, _ disk: MemoryDisk) {
    self.path = path
    self.disk = disk
  }
  deinit { memory.free() }

  var count: Int { state.withLock { $0.count } }
  var content: [UInt8] { Array(UnsafeRawBufferPointer(start: memory.start, count: count)) }

  func replace(_ bytes: [UInt8]) {
    memory.start.copyMemory(from: bytes, byteCount: bytes.count)
    resize(to: bytes.count)
  }

  func resize(to count: Int) {
    state.withLock { state in
      if count < state.count {
        (memory.start + count).initializeMemory(as: UInt8.self, repeating: 0, count: state.count - count)
      }
      state.count = count
    }
  }

  func tryLock() -> Bool {
    state.withLock { state in
      defer { state.isLocked = true }
      return !state.isLocked
    }
  }

  func unlock() { state.withLock { $0.isLocked = false } }
}

private final class MemoryHandle: File, @unchecked Sendable {
  private let file: MemoryFile
  private let hasLock = Guarded(false)

  init(_ file: MemoryFile) { self.file = file }
  deinit { if hasLock.withLock({ $0 }) { file.unlock() } }

  var path: String { file.path }
  var announcesStores: Bool { false }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    file.disk?.onRead.withLock { $0 }?(path, offset)
    let count = min(buffer.count, max(0, file.count - offset))
    if count > 0 { buffer.baseAddress!.copyMemory(from: file.memory.start + offset, byteCount: count) }
    file.disk?.readByteCount.withLock { $0 += count }
    return count
  }

  func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int, from site: CallSite
  ) throws(SystemError) {
    let end = offset + first.count + second.count
    guard end <= MemoryFile.largest else { throw SystemError(code: 28, operation: "write", path: path) }
    file.disk?.onWrite.withLock { $0 }?(path, offset)
    for (bytes, place) in [(first, offset), (second, offset + first.count)] where bytes.count > 0 {
      (file.memory.start + place).copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
    }
    if end > file.count { file.resize(to: end) }
  }

  func allocate(byteCount: Int, from site: CallSite) throws(SystemError) {
    guard byteCount <= MemoryFile.largest else {
      throw SystemError(code: 28, operation: "allocate", path: path)
    }
    if byteCount > file.count { file.resize(to: byteCount) }
  }

  func truncate(to byteCount: Int, from site: CallSite) { file.resize(to: byteCount) }
  func sync(from site: CallSite) throws(SystemError) { try file.disk?.onSync.withLock { $0 }?(path) }
  func status() -> FileStatus {
    FileStatus(byteCount: file.count, allocatedByteCount: roundUp(file.count, to: 4096))
  }

  func map(byteCount: Int, writable: Bool) -> Mapping {
    // Pages behind the end of a real file raise a signal.
    #expect(byteCount <= roundUp(file.count, to: 4096), "\(path) is mapped further than it goes")
    let file = file
    return Mapping(start: file.memory.start, byteCount: byteCount) { withExtendedLifetime(file) {} }
  }

  func tryLock() -> Bool {
    let isTaken = file.tryLock()
    if isTaken { hasLock.withLock { $0 = true } }
    return isTaken
  }

  func willStore(_ range: Range<Int>) {}
  func didStore(_ range: Range<Int>, from site: CallSite) {}
}
