import Glibc
import Vitrine

/// The synced folders, by their inode numbers; nil while they are not recorded.
private let synced = Guarded<Set<ino_t>?>(nil)

private let systemsOwn = dlsym(UnsafeMutableRawPointer(bitPattern: -1), "fsync").map {
  unsafeBitCast($0, to: (@convention(c) (Int32) -> Int32).self)
}

/// Overrides the system's call, which is used for folders only, and passes on to it. The tests that run this
/// program are linked with it too, and must see no difference.
@_cdecl("fsync") public func noteSync(_ descriptor: Int32) -> Int32 {
  var status = stat()
  if synced.withLock({ $0 != nil }), fstat(descriptor, &status) == 0 {
    synced.withLock { _ = $0?.insert(status.st_ino) }
  }
  return systemsOwn?(descriptor) ?? fdatasync(descriptor)
}

/// Checks that a new store's own name, and those of its entries, are made durable.
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
