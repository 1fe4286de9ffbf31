import Glibc
import Vitrine

/// A forked child that uses a store of its own, while the threads of the parent's engine exist in the parent alone.
struct ChildStore {
  let folder: String

  func run() throws {
    let store = try CacheStore.open(at: folder, options: StoreOptions(byteBudget: 64 << 20))
    // A burst, so that threads of the engine wait for work at the fork.
    for key in 0..<2000 { try store.put(value(key, 500), for: "\(key)") }
    let child = fork()
    if child == 0 {
      var alarms = sigset_t()
      sigemptyset(&alarms)
      sigaddset(&alarms, SIGALRM)
      sigprocmask(SIG_UNBLOCK, &alarms, nil)
      alarm(600)
      do { try useOwnStore() } catch { fail("the child failed: \(error)") }
      _exit(0)
    }
    var status: Int32 = 0
    expect(waitpid(child, &status, 0) == child && status == 0, "the child ended with \(status)")
    try store.close()
  }

  private func useOwnStore() throws {
    let store = try CacheStore.open(at: folder + "-child", options: StoreOptions(byteBudget: 64 << 20))
    for key in 0..<5000 { try store.put(value(key, 900), for: "\(key)") }
    for key in 0..<5000 {
      let isThere = store.get("\(key)") { span in span.withUnsafeBytes { $0.elementsEqual(value(key, 900)) } }
      expect(isThere == true, "the value of \(key) is missing or wrong")
    }
    // Stops the upkeep.
    try store.close()
  }
}
