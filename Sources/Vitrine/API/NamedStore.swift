// Stores that a program names, in the folder that the system has for caches.
extension CacheStore {
  /// Opens the store `name` in the user's folder for caches, and creates store and folder if necessary.
  ///
  /// The folder is `$XDG_CACHE_HOME`, or else `~/.cache`; on Apple platforms it is `~/Library/Caches`, which is in no
  /// backup. `name` is one component of a path, such as `com.example.pictures`.
  ///
  /// While the process has the store open, another opening of the same name returns the same object, and ignores the
  /// new options. Read-only openings and openings for writing share no object. Closing or suspending an object affects
  /// all its users. If another opening has the lock, the call waits for at most 1 s, or for
  /// ``StoreOptions/waitForLockMilliseconds`` if that is longer. The store is recreated if its folder is deleted
  /// (``StoreOptions/recreatesIfRemoved``). Throws
  /// `invalidArgument` for a name with a slash or a zero byte, an empty name, `.` and `..`, and if the user has no home
  /// folder; also the errors of ``open(at:options:)``. Takes as long as an opening, and other openings by name wait
  /// meanwhile. Thread-safe.
  public static func open(
    named name: String, options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> CacheStore {
    let path = try path(ofStoreNamed: name)
    var options = options
    options.recreatesIfRemoved = true
    // Another object may be closing the store just now.
    options.waitForLockMilliseconds = max(options.waitForLockMilliseconds, 1000)
    let key = "\(options.isReadOnly ? "read" : "write") \(path)"
    let isReadOnly = options.isReadOnly
    return try NamedStores.shared.withLock { stores throws(StoreError) in
      // An opening for writing must not get a store that became read-only because another process had the lock.
      if let store = stores.open[key]?.store, !store.isClosed, store.isReadOnly == isReadOnly { return store }
      try makeFolders(parentPath(of: path))
      let store = try open(at: path, options: options)
      stores.open = stores.open.compactMapValues { $0.store.map(NamedStores.Reference.init) }
      stores.open[key] = NamedStores.Reference(store: store)
      return store
    }
  }

  /// The path that ``open(named:options:)`` opens. Throws `invalidArgument` as it does. Touches no file.
  public static func path(ofStoreNamed name: String) throws(StoreError) -> String {
    guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(0), !name.contains("/") else {
      throw .invalidArgument("the name of a store is one component of a path, not '\(name)'")
    }
    guard let folder = userCacheFolder() else {
      throw .invalidArgument("the user has no folder for caches: neither XDG_CACHE_HOME nor a home folder is known")
    }
    return "\(folder)/\(name)"
  }

  /// Whether the store is closed, or belongs to the parent of this process.
  private var isClosed: Bool {
    if core.basics.gate.isForkedChild { return true }
    return succeeding.withLock { standing in
      if case .closed = standing { true } else { false }
    }
  }

  /// Makes a folder and its parents as far as they are missing.
  private static func makeFolders(_ path: String) throws(StoreError) {
    do throws(SystemError) {
      _ = try Environment.posix.fileSystem.openDirectory(path, create: true)
    } catch {
      guard error.code == SystemError.missing, path != "/", path != "." else { throw .system(error) }
      try makeFolders(parentPath(of: path))
      do throws(SystemError) {
        _ = try Environment.posix.fileSystem.openDirectory(path, create: true)
      } catch {
        throw .system(error)
      }
    }
  }
}

/// The stores that are open by name in this process.
private struct NamedStores {
  static let shared = Guarded(NamedStores())

  struct Reference { weak var store: CacheStore? }

  var open: [String: Reference] = [:]
}
