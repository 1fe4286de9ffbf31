#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The user's folder for caches, by the base directory specification of freedesktop.org, or by Apple's conventions. Nil
/// if the user's home folder is not known.
func userCacheFolder() -> String? {
  #if !canImport(Darwin)
    // A relative path in the variable is to be ignored.
    if let folder = variable("XDG_CACHE_HOME"), folder.hasPrefix("/") { return folder }
    return homeFolder().map { "\($0)/.cache" }
  #else
    return homeFolder().map { "\($0)/Library/Caches" }
  #endif
}

private func homeFolder() -> String? {
  if let home = variable("HOME"), home.hasPrefix("/") { return home }
  var record = passwd()
  var found: UnsafeMutablePointer<passwd>?
  return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16384) { buffer in
    guard let names = buffer.baseAddress, getpwuid_r(getuid(), &record, names, buffer.count, &found) == 0,
      found != nil, let folder = record.pw_dir
    else { return nil }
    let home = String(cString: folder)
    return home.hasPrefix("/") ? home : nil
  }
}

private func variable(_ name: String) -> String? {
  guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
  return value
}
