import CBench
import Glibc

/// A folder with one file for each value, in 16 folders, or in 256 for many values. The name is the XXH3-128 of the
/// key. Belongs to one thread, because it keeps the memory in which paths are made.
final class PictureFiles {
  private static let aside = Array(".new".utf8)

  private let path: UnsafeMutablePointer<UInt8>
  /// Where the name of the folder of a value begins: `4f/1b2c...`.
  private let nameStart: Int
  /// Digits of a folder's name.
  private let folderDigits: Int
  private let nameByteCount = 33

  init(_ folder: String, _ plan: StorePlan) {
    folderDigits = PictureFiles.folderDigits(plan)
    let root = Array((folder + "/").utf8)
    nameStart = root.count
    path = .allocate(capacity: root.count + nameByteCount + PictureFiles.aside.count + 1)
    path.initialize(from: root, count: root.count)
  }

  deinit { path.deallocate() }

  private static func folderDigits(_ plan: StorePlan) -> Int { plan.entryCount < 10_000 ? 1 : 2 }

  static func makeFolders(_ folder: String, _ plan: StorePlan) throws {
    let digits = folderDigits(plan)
    for index in 0..<(1 << (4 * digits)) {
      let name = String(index, radix: 16)
      let zeros = String(repeating: "0", count: digits - name.utf8.count)
      guard mkdir("\(folder)/\(zeros)\(name)", 0o700) == 0 || errno == EEXIST else {
        throw Failure.system("files: mkdir", errno)
      }
    }
  }

  /// Writes a value aside and renames it to its name. A synced one and its name are then durable.
  func write(_ key: Key, _ value: UnsafeRawBufferPointer, synced: Bool) throws {
    let name = characters(key, ending: PictureFiles.aside)
    let file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Failure.system("files: open", errno) }
    defer { close(file) }
    guard Glibc.write(file, value.baseAddress, value.count) == value.count else {
      throw Failure.system("files: write", errno)
    }
    if synced, fdatasync(file) != 0 { throw Failure.system("files: fdatasync", errno) }
    let end = nameStart + nameByteCount
    let renamed = withUnsafeTemporaryAllocation(of: CChar.self, capacity: end + 1) { final in
      guard let start = final.baseAddress else { return CInt(-1) }
      memcpy(start, path, end)
      start[end] = 0
      return rename(name, start)
    }
    guard renamed == 0 else { throw Failure.system("files: rename", errno) }
    if synced { try syncFolder() }
  }

  /// Makes the names in the folder of the last path durable.
  private func syncFolder() throws {
    path[nameStart + folderDigits] = 0
    let file = open(UnsafeRawPointer(path).assumingMemoryBound(to: CChar.self), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0 else { throw Failure.system("files: open", errno) }
    defer { close(file) }
    if fsync(file) != 0 { throw Failure.system("files: fsync", errno) }
  }

  /// Opens a value for reading; nil if there is none.
  func descriptor(_ key: Key) throws -> CInt? {
    let file = open(characters(key), O_RDONLY | O_CLOEXEC)
    if file >= 0 { return file }
    if errno == ENOENT { return nil }
    throw Failure.system("files: open", errno)
  }

  func contains(_ key: Key) -> Bool { access(characters(key), F_OK) == 0 }

  func remove(_ key: Key) throws -> Bool {
    if unlink(characters(key)) == 0 { return true }
    if errno == ENOENT { return false }
    throw Failure.system("files: unlink", errno)
  }

  static func byteCount(_ file: CInt) throws -> Int {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw Failure.system("files: fstat", errno) }
    return Int(status.st_size)
  }

  /// The path of a key, valid until the next one is made.
  private func characters(_ key: Key, ending: [UInt8] = []) -> UnsafePointer<CChar> {
    let hash = bench_hash_key(key.start, Key.byteCount)
    let name = path + nameStart
    Hexadecimal.write(hash.high, to: name)
    // Moves the digits behind the folder's by one place, for the slash.
    memmove(name + folderDigits + 1, name + folderDigits, 16 - folderDigits)
    name[folderDigits] = UInt8(ascii: "/")
    Hexadecimal.write(hash.low, to: name + 17)
    var end = name + nameByteCount
    for byte in ending {
      end.pointee = byte
      end += 1
    }
    end.pointee = 0
    return UnsafeRawPointer(path).assumingMemoryBound(to: CChar.self)
  }
}

/// The calls that are equal for files that are read and files that are mapped.
protocol FileSession: EngineSession {
  var files: PictureFiles { get }
}

extension FileSession {
  func put(_ key: Key, _ value: UnsafeRawBufferPointer) throws { try files.write(key, value, synced: false) }

  func putSynced(_ key: Key, _ value: UnsafeRawBufferPointer) throws { try files.write(key, value, synced: true) }

  func putBatch(_ entries: [Entry], synced: Bool) throws {
    for entry in entries { try files.write(entry.key, entry.value, synced: synced) }
  }

  func contains(_ key: Key) -> Bool { files.contains(key) }

  func remove(_ key: Key) throws -> Bool { try files.remove(key) }
}
