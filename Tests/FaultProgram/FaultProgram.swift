import Glibc
import Vitrine

/// Tests that need a separate process: `vitrine-faults SCENE FOLDER`. Exit status 0: passed; 1, and a line with the
/// reason: failed. A signal ends it like any program.
@main enum FaultProgram {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { fail("usage: vitrine-faults SCENE FOLDER") }
    let folder = arguments[2]
    switch arguments[1] {
    case "cut-mapped": try CutFiles(folder: folder, reads: .mapped).run()
    case "cut-copied": try CutFiles(folder: folder, reads: .copied).run()
    case "cut-guarded":
      try CacheStore.installBusErrorGuard()
      try CutFiles(folder: folder, reads: .mapped).run()
    case "guarded-late": try GuardedReads(folder: folder).run()
    case "guarded-child": try GuardedReads(folder: folder).runInChild()
    case "child-writes": try ChildStore(folder: folder).run()
    case "guarded-zeros": try GuardedReads(folder: folder).putZeros()
    case "guarded-stores": try GuardedReads(folder: folder).store()
    case "guarded-log": try GuardedReads(folder: folder).log()
    case "foreign-fault": try OtherSignals(folder: folder).faultInAForeignFile(handled: false)
    case "foreign-fault-handled": try OtherSignals(folder: folder).faultInAForeignFile(handled: true)
    case "sent": try OtherSignals(folder: folder).send(ignored: false)
    case "sent-ignored": try OtherSignals(folder: folder).send(ignored: true)
    case "descriptors": try NoDescriptors(folder: folder, reads: .mapped).run()
    case "descriptors-copied": try NoDescriptors(folder: folder, reads: .copied).run()
    case "few-descriptors": try FewDescriptors(folder: folder, limit: 256, count: 1800, byteCount: 33_000).run()
    case "quarter-gibibyte": try FewDescriptors(folder: folder, limit: 1024, count: 4474, byteCount: 60_000).run()
    case "synced-folders": try SyncedFolders(folder: folder).run()
    default: fail("no scene \(arguments[1])")
    }
  }
}

func fail(_ message: String) -> Never {
  print(message)
  exit(1)
}

func expect(_ isTrue: Bool, _ message: @autoclosure () -> String) {
  if !isTrue { fail(message()) }
}

/// Runs `body` in a forked child, and waits until the child has ended without an error. An alarm ends a child that
/// hangs.
func inChild(_ body: () -> Void) {
  let child = fork()
  if child == 0 {
    // The parent process may have blocked it.
    var alarms = sigset_t()
    sigemptyset(&alarms)
    sigaddset(&alarms, SIGALRM)
    sigprocmask(SIG_UNBLOCK, &alarms, nil)
    alarm(600)
    body()
    _exit(0)
  }
  var status: Int32 = 0
  expect(waitpid(child, &status, 0) == child && status == 0, "the child ended with \(status)")
}

/// Incompressible bytes that only this number has.
func value(_ number: Int, _ count: Int) -> [UInt8] {
  var word = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 | 1
  return (0..<count).map { _ in
    word ^= word << 13
    word ^= word >> 7
    word ^= word << 17
    return UInt8(truncatingIfNeeded: word >> 32)
  }
}

/// The segment files of a store with live records.
func segmentFiles(_ store: CacheStore) -> [String] {
  store.statistics().segments.filter { $0.livePartCount > 0 }.map { "\(store.path)/segments/\($0.file)" }
}

func cut(_ path: String, to byteCount: Int) {
  expect(truncate(path, off_t(byteCount)) == 0, "cannot cut \(path)")
}

func size(_ path: String) -> Int {
  let descriptor = open(path, O_RDONLY)
  expect(descriptor >= 0, "no \(path)")
  defer { close(descriptor) }
  return Int(lseek(descriptor, 0, SEEK_END))
}
