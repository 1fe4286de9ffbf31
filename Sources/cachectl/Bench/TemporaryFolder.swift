import CacheCtlKit
import Glibc

/// A folder that is removed after its work, and also when a signal ends the process.
///
/// From its creation on, its own thread takes SIGINT, SIGTERM and SIGHUP, removes the folder and then raises the
/// signal again. Make it before any other thread, so that all threads block those signals.
final class TemporaryFolder: Sendable {
  let path: String

  /// Makes the folder at `path`, which must not exist, or under a new name in the system's folder for temporary
  /// files.
  init(at wanted: String?) throws(Failure) {
    var signals = TemporaryFolder.endingSignals()
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    path = try TemporaryFolder.make(at: wanted, for: "bench", in: "/var/tmp")
    try Threads.start { [path] in TemporaryFolder.removeOnSignal(path) }
  }

  /// Makes a folder at `path`, which must not exist, or under a new name in TMPDIR or else in `base`. Returns its path.
  static func make(at path: String?, for command: String, in base: String) throws(Failure) -> String {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? base
    let path = path ?? "\(base)/cachectl-\(command)-\(getpid())"
    guard mkdir(path, 0o700) == 0 else { throw .system("make", printable(Array(path.utf8))) }
    return path
  }

  func remove() { FolderTree.remove(path) }

  private static func endingSignals() -> sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
    return signals
  }

  private static func removeOnSignal(_ path: String) {
    var signals = endingSignals()
    var number: CInt = 0
    guard sigwait(&signals, &number) == 0 else { return }
    // The work continues meanwhile and may create another file, so try more than once.
    for _ in 0..<50 where !FolderTree.remove(path) { usleep(20_000) }
    signal(number, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    kill(getpid(), number)
  }
}

/// Removes a folder and all its content; symbolic links are removed and not followed.
enum FolderTree {
  /// Returns whether all is removed.
  @discardableResult
  static func remove(_ path: String) -> Bool {
    guard let folder = try? Descriptor.open(Array(path.utf8), O_RDONLY | O_DIRECTORY | O_NOFOLLOW) else {
      return errno == ENOENT
    }
    empty(folder)
    return rmdir(path) == 0
  }

  private static func empty(_ folder: borrowing Descriptor) {
    for name in (try? folder.names()) ?? [] where withCString(name, { unlinkat(folder.raw, $0, 0) }) != 0 {
      if let inner = try? folder.open(name, O_RDONLY | O_DIRECTORY) { empty(inner) }
      _ = withCString(name) { unlinkat(folder.raw, $0, AT_REMOVEDIR) }
    }
  }
}
