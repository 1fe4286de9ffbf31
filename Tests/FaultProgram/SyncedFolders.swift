import Glibc
import Synchronization
import Vitrine

/// The folders that were synced, by their numbers on the disk.
private let synced = Mutex<Set<ino_t>>([])

/// Stands before the system's in this process, where only folders are synced by it.
@_cdecl("fsync") public func noteSync(_ descriptor: Int32) -> Int32 {
  var status = stat()
  if fstat(descriptor, &status) == 0 { _ = synced.withLock { $0.insert(status.st_ino) } }
  return fdatasync(descriptor)
}

/// A new store's own name, and those of all that is in it, are made durable.
struct SyncedFolders {
  let folder: String

  func run() throws {
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 8 << 20))
    for name in ["/..", "", "/wal", "/checkpoints", "/segments"] {
      var status = stat()
      expect(stat(folder + name, &status) == 0, "no folder \(name)")
      expect(synced.withLock { $0.contains(status.st_ino) }, "the folder \(name) was not synced")
    }
    try store.close()
  }
}
