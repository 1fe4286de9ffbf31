import Glibc
import Vitrine

/// The folders that were synced, by their numbers on the disk; nil while nobody wants to know.
private let synced = Guarded<Set<ino_t>?>(nil)

private let systemsOwn = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "fsync").map {
  unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self)
}

/// Stands before the system's, where only folders are synced by it, and passes on to that. The tests that run this program
/// are linked with it too, and must see no difference.
@_cdecl("fsync") public func noteSync(_ descriptor: Int32) -> Int32 {
  var status = stat()
  if synced.withLock({ $0 != nil }), fstat(descriptor, &status) == 0 {
    synced.withLock { _ = $0?.insert(status.st_ino) }
  }
  return systemsOwn?(descriptor) ?? fdatasync(descriptor)
}

/// A new store's own name, and those of all that is in it, are made durable.
struct SyncedFolders {
  let folder: String

  func run() throws {
    synced.withLock { $0 = [] }
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 8 << 20))
    for name in ["/..", "", "/wal", "/checkpoints", "/segments"] {
      var status = stat()
      expect(stat(folder + name, &status) == 0, "no folder \(name)")
      expect(synced.withLock { $0?.contains(status.st_ino) } == true, "the folder \(name) was not synced")
    }
    try store.close()
  }
}
